import { FairleadError } from '@fairlead/errors';
import { nameSelected } from './field-selector.js';
import type { RequestAttributes, ResourceRequest } from './request-attributes.js';

/** By the method, for a resource. Any other method is no verb of Kubernetes', and it may be any word. */
const VERBS: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
/** Verbs that a path may begin with, as it did in early versions of Kubernetes; `watch` still may. */
const VERBS_IN_PATH = new Set(['proxy', 'watch']);
/** What stands below a namespace's name and is a part of the namespace, and no resource in it. */
const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

/** Kinds of Kubernetes that a PUT creates (`AllowCreateOnUpdate` of their strategies). */
const CREATED_BY_PUT = new Set([
  'endpoints.',
  'events.',
  'limitranges.',
  'services.',
  'leases.coordination.k8s.io',
  'events.events.k8s.io',
  'clusterrolebindings.rbac.authorization.k8s.io',
  'clusterroles.rbac.authorization.k8s.io',
  'rolebindings.rbac.authorization.k8s.io',
  'roles.rbac.authorization.k8s.io',
]);
const APPLY = /\bapplication\/apply-patch\b/i;

/**
 * What a request asks a kube-apiserver for, read from its method and its target (path and query, as they are sent) as apiserver's RequestInfoFactory
 * (k8s.io/apiserver 0.34) reads them. `contentTypes`: of its body, all that it names. INVALID_ARGUMENT for a target, or a method, that another reader could
 * take for something else: HTTP/2 carries `get`, which is no `GET`, and whoever sends it on may write it in capitals (Node does).
 */
export function readAttributes(
  method: string,
  target: string,
  contentTypes: readonly string[] = [],
): RequestAttributes {
  if (method !== method.toUpperCase()) throw unclear('its method is not in capitals');
  const [rawPath = '', query = ''] = target.split(/\?(.*)/s);
  const path = decoded(rawPath);
  const segments = segmentsOf(path);
  if (segments.includes('.') || segments.includes('..')) throw unclear('its path holds a dot segment');
  const [prefix] = segments;
  const skipped = prefix === 'api' ? 2 : 3;
  if ((prefix !== 'api' && prefix !== 'apis') || segments.length <= skipped) {
    return { kind: 'url', verb: method.toLowerCase(), path };
  }
  const place = placeOf(segments.slice(skipped));
  assertPlain(rawPath, [...segments.slice(0, skipped), ...place.read]);
  const { resource, subresource, namespace, name, verbInPath } = place;
  const base = {
    kind: 'resource',
    apiGroup: prefix === 'api' ? '' : (segments[1] ?? ''),
    resource,
    namespace,
  } as const;
  const verb = verbInPath ?? VERBS.get(method) ?? '';
  if (name === '' && verb === 'get') return { ...base, subresource, ...ofCollection(query) };
  if (name === '') return { ...base, subresource, name, verb: verb === 'delete' ? 'deletecollection' : verb };
  return { ...base, subresource, name, verb, ...creation(base, { verb, subresource, contentTypes }) };
}

/** Of a subresource the object is there, or nothing is made. */
function creation(
  { resource, apiGroup }: { readonly resource: string; readonly apiGroup: string },
  asked: { readonly verb: string; readonly subresource: string; readonly contentTypes: readonly string[] },
): Pick<ResourceRequest, 'mayCreate'> {
  const { verb, subresource, contentTypes } = asked;
  if (subresource !== '') return {};
  if (verb === 'patch') return contentTypes.some((each) => APPLY.test(each)) ? { mayCreate: 'apply' } : {};
  return verb === 'update' && CREATED_BY_PUT.has(`${resource}.${apiGroup}`) ? { mayCreate: 'put' } : {};
}

interface Place {
  readonly verbInPath: string | undefined;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** All that means something; what follows is for whoever serves the subresource. */
  readonly read: readonly string[];
}

/** What stands below `/api/v1` or `/apis/<group>/<version>`. */
function placeOf(segments: readonly string[]): Place {
  const [first = ''] = segments;
  const verbInPath = VERBS_IN_PATH.has(first) ? first : undefined;
  const rest = verbInPath === undefined ? segments : segments.slice(1);
  if (rest.length === 0) throw unclear('its path ends where a resource should be named');
  const isInNamespace = rest[0] === 'namespaces' && rest.length > 1;
  const isBelow = isInNamespace && rest.length > 2 && !NAMESPACE_SUBRESOURCES.has(rest[2] ?? '');
  const [resource = '', name = '', third = ''] = isBelow ? rest.slice(2) : rest;
  return {
    verbInPath,
    namespace: isInNamespace ? (rest[1] ?? '') : '',
    resource,
    name,
    subresource: verbInPath === 'proxy' ? '' : third,
    read: [...segments.slice(0, segments.length - rest.length), ...rest.slice(0, isBelow ? 5 : 3)],
  };
}

/** A GET without a name lists or watches; a field selector may name the one object that is meant. */
function ofCollection(query: string): { readonly verb: 'list' | 'watch'; readonly name: string } {
  const { watch, fieldSelector } = listParameters(query);
  const isWatch = watch !== undefined && watch !== '0' && watch.toLowerCase() !== 'false';
  const name = fieldSelector === undefined ? undefined : nameSelected(fieldSelector);
  return { verb: isWatch ? 'watch' : 'list', name: name ?? '' };
}

/** Go takes the first one of several, others the last; and Go leaves out what it cannot read. */
function listParameters(query: string): { readonly watch?: string; readonly fieldSelector?: string } {
  if (query.includes(';')) throw unclear('its query holds a semicolon');
  const found: { watch?: string; fieldSelector?: string } = {};
  for (const pair of query.split('&')) {
    const [rawKey = '', rawValue = ''] = pair.split(/=(.*)/s);
    const key = unescaped(rawKey);
    if (key !== 'watch' && key !== 'fieldSelector') continue;
    if (found[key] !== undefined) throw unclear(`its query holds ${key} more than once`);
    found[key] = unescaped(rawValue);
  }
  return found;
}

function unescaped(text: string): string {
  return decoded(text.replaceAll('+', ' '), 'query');
}

/** Names outside of ASCII, or in broken escapes, are not the same in every encoding. */
function decoded(text: string, part = 'path'): string {
  if (/[^\x20-\x7e]/.test(text)) throw unclear(`its ${part} holds characters that are not escaped`);
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw unclear(`its ${part} holds an escape that cannot be read`);
  }
}

/** Without those that are empty at the beginning and at the end. No pattern: of very many slashes one that ends with `$` takes seconds. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/');
  const from = segments.findIndex((segment) => segment !== '');
  return from < 0 ? [] : segments.slice(from, segments.findLastIndex((segment) => segment !== '') + 1);
}

/** Of a resource's path: an empty segment is skipped by some and counted by others. */
function assertPlain(rawPath: string, read: readonly string[]): void {
  if (read.includes('') || rawPath.startsWith('//') || rawPath.endsWith('//'))
    throw unclear('its path holds an empty segment');
  if (/%2f/i.test(rawPath)) throw unclear('its path holds an encoded slash');
}

function unclear(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `it cannot be told for certain what the request asks for: ${why}`);
}
