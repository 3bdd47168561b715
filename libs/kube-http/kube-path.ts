/** A request target of the Kubernetes API door. */
export type KubePath =
  | {
      readonly kind: 'cluster';
      readonly cluster: string;
      /** Path and query for the kube-apiserver, byte for byte. */
      readonly target: string;
    }
  | { readonly kind: 'not-a-cluster' }
  | { readonly kind: 'refused'; readonly why: string };

const PREFIX = /^\/clusters\/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(\/.*)?$/;
const ENCODED_SEPARATOR = /%(?:2f|5c|2e|00)/i;

/**
 * Splits `/clusters/<name>/<rest>` on the raw request target: nothing is decoded and encoded again, and whatever two
 * parsers could read differently (dot segments, encoded separators, backslashes) is refused.
 */
export function parseKubePath(rawTarget: string): KubePath {
  if (!rawTarget.startsWith('/clusters/')) return { kind: 'not-a-cluster' };
  const why = whyAmbiguous(rawTarget);
  if (why !== null) return { kind: 'refused', why };
  const { path, query } = split(rawTarget);
  const match = PREFIX.exec(path);
  if (!match?.[1]) return { kind: 'not-a-cluster' };
  return { kind: 'cluster', cluster: match[1], target: `${match[2] ?? '/'}${query}` };
}

/** Why a request target (path and query) may not go to a kube-apiserver as it is: two parsers could read it differently. Null: it may. */
export function whyAmbiguous(rawTarget: string): string | null {
  const { path, query } = split(rawTarget);
  if (!path.startsWith('/')) return 'the path does not begin with a slash';
  if (/[^\x21-\xff]|\x7f/.test(query)) return 'the query holds a blank or a control character';
  if (ENCODED_SEPARATOR.test(path)) return 'the path holds an encoded separator or dot';
  if (/[\\#]|[^\x21-\xff]|\x7f/.test(path)) {
    return 'the path holds a backslash, a fragment, a blank or a control character';
  }
  const isDots = path.split('/').some((segment) => segment === '..' || segment === '.');
  return isDots ? 'the path holds a dot segment' : null;
}

function split(rawTarget: string): { readonly path: string; readonly query: string } {
  const queryAt = rawTarget.indexOf('?');
  if (queryAt === -1) return { path: rawTarget, query: '' };
  return { path: rawTarget.slice(0, queryAt), query: rawTarget.slice(queryAt) };
}

const LONG_RUNNING_SUBRESOURCES = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/**
 * Requests without an end of their own, which get no time limit: watches and the subresources that stream
 * (kube-apiserver's own list, BasicLongRunningRequestCheck).
 */
export function isLongRunning(target: string): boolean {
  return asksToWatch(target) || streams(target);
}

/** Whether the answer is a kube-apiserver's own series of events; what is behind a proxy of its may watch too, but says so in its own way. */
export function isWatch(target: string): boolean {
  return asksToWatch(target) && !streams(target);
}

function asksToWatch(target: string): boolean {
  const { segments, query } = parts(target);
  const watch = new URLSearchParams(query).get('watch');
  if (watch !== null && watch !== 'false' && watch !== '0') return true;
  return segments[2] === 'watch' || segments[3] === 'watch';
}

function streams(target: string): boolean {
  return parts(target).segments.some((segment, index) => index >= 4 && LONG_RUNNING_SUBRESOURCES.has(segment));
}

/** By hand: URL would take "//x" for a host, and throws on some targets. */
function parts(target: string): { readonly segments: readonly string[]; readonly query: string } {
  const { path, query } = split(target);
  return { segments: path.split('/').filter((segment) => segment !== ''), query };
}
