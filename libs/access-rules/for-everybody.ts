import type { RequestAttributes } from './request-attributes.js';

/** Kubernetes' `system:discovery`: what every user may see, so that tools find out what there is. */
const URLS = new Set(['/api', '/apis', '/healthz', '/livez', '/openapi', '/readyz', '/version', '/version/']);
const URLS_BELOW = ['/api/', '/apis/', '/openapi/'];
/** Kubernetes' `system:basic-user`: everybody may ask about themselves. */
const REVIEWS = new Set([
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
]);

/** Is this a request that tools send before any other, and that shows nothing of what is in a cluster? */
export function isForEverybody(attributes: RequestAttributes): boolean {
  if (attributes.kind === 'url') {
    const { verb, path } = attributes;
    return verb === 'get' && (URLS.has(path) || URLS_BELOW.some((prefix) => path.startsWith(prefix)));
  }
  const { verb, resource, apiGroup, subresource } = attributes;
  return verb === 'create' && subresource === '' && REVIEWS.has(`${resource}.${apiGroup}`);
}
