/** What stands below `/api/v1` or `/apis/<group>/<version>`, and is not the name of something. */
const NAMESPACE_SUBRESOURCES = new Set(['finalize', 'status']);
/** Of paths that are no resource, the first segment says enough. */
const PLAIN = new Set(['healthz', 'livez', 'metrics', 'openapi', 'readyz', 'version']);
/** What stands for something that is named. */
const PLACES = new Set(['{namespace}', '{name}', '{path}']);
const WORD = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

/**
 * The route of a request for a kube-apiserver, with what it names left out: `/api/v1/namespaces/{namespace}/pods/{name}/log`.
 * Neither names nor queries are in it, and of odd paths only that they are odd.
 */
export function kubeRoute(target: string): string {
  const [first = '', ...rest] = (target.split('?', 1)[0] ?? '').split('/').filter((segment) => segment !== '');
  const isCore = first === 'api';
  if (!isCore && first !== 'apis') {
    if (first === '') return '/';
    const below = rest.length > 0 ? '/{path}' : '';
    return PLAIN.has(first) ? `/${first}${below}` : '/{path}';
  }
  const versionAt = isCore ? 1 : 2;
  const version = rest.slice(0, versionAt);
  const route = [first, ...version, ...resourceRoute(rest.slice(versionAt))];
  return `/${route.map((segment) => (WORD.test(segment) || PLACES.has(segment) ? segment : '{path}')).join('/')}`;
}

function resourceRoute(segments: readonly string[]): string[] {
  if (segments[0] === 'watch' && segments.length > 1) return ['watch', ...collectionRoute(segments.slice(1))];
  return segments.length > 0 ? collectionRoute(segments) : [];
}

function collectionRoute(segments: readonly string[]): string[] {
  const [first, , third] = segments;
  const isInside = first === 'namespaces' && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third);
  if (isInside) return ['namespaces', '{namespace}', ...objectRoute(segments.slice(2))];
  return objectRoute(segments);
}

/** `pods`, `pods/{name}`, `pods/{name}/log`, `services/{name}/proxy/{path}`. */
function objectRoute([resource = '', name, subresource, ...below]: readonly string[]): string[] {
  return [
    resource,
    ...(name === undefined ? [] : ['{name}']),
    ...(subresource === undefined ? [] : [subresource]),
    ...(below.length > 0 ? ['{path}'] : []),
  ];
}
