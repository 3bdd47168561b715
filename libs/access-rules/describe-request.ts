import type { RequestAttributes } from './request-attributes.js';

/** As long as a name of Kubernetes' may be. Whoever asks chooses what stands here. */
const MAX_WORD = 63;
const MAX_NAME = 253;

/** A request in words, without the name of an object: `list pods in the namespace "shop"`, `get deployments.apps/scale`, `get /metrics`. */
export function describeRequest(attributes: RequestAttributes): string {
  const verb = told(attributes.verb || 'use an unknown method on', MAX_WORD);
  if (attributes.kind === 'url') return `${verb} ${told(attributes.path, MAX_NAME)}`;
  const { apiGroup, resource, subresource, namespace } = attributes;
  const group = apiGroup === '' ? '' : `.${told(apiGroup, MAX_NAME)}`;
  const below = subresource === '' ? '' : `/${told(subresource, MAX_WORD)}`;
  const where = namespace === '' ? '' : ` in the namespace "${told(namespace, MAX_WORD)}"`;
  return `${verb} ${told(resource, MAX_NAME)}${group}${below}${where}`;
}

function told(text: string, max: number): string {
  return text.slice(0, max).replaceAll(/[^\x20-\x7e]|"/g, '?');
}
