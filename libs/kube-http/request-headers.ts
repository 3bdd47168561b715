import { FairleadError } from '@fairlead/errors';

/**
 * Header hygiene of the Kubernetes API proxy: pure functions over raw header lists ([name, value, name, value, …], as
 * Node gives them), so that repeated headers stay repeated.
 *
 * Order matters: everything that a `Connection` header names is removed before any identity is added, because a client
 * could otherwise name the proxy's own header (Rancher GHSA-pvxj-25m6-7vqr).
 */

/** RFC 9110 7.6.1 and its forerunners: these speak of one hop only. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/** Credentials and identities: what a caller sends of these is never passed on. */
const IDENTITY = new Set(['authorization', 'cookie']);
const IDENTITY_PREFIXES = ['impersonate-', 'x-remote-'];

/** Written by the gateway itself. */
const PROVENANCE = new Set(['audit-id', 'forwarded', 'traceparent', 'via', 'x-real-ip', 'expect']);
const PROVENANCE_PREFIXES = ['x-forwarded-'];

const BEARER_SUBPROTOCOL = 'base64url.bearer.authorization.k8s.io.';

export type RawHeaders = readonly string[];

/** [name, value] pairs of a raw list. */
export function* headerPairs(raw: RawHeaders): Generator<[name: string, value: string]> {
  for (let i = 0; i + 1 < raw.length; i += 2) yield [raw[i] as string, raw[i + 1] as string];
}

/** The values of a header, one for each time it is there. `lowerCaseName`: as it is told of any spelling. */
export function headerValues(raw: RawHeaders, lowerCaseName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) values.push(raw[i + 1] as string);
  }
  return values;
}

/** Does the caller try to act as somebody else (`kubectl --as`)? */
export function asksToImpersonate(raw: RawHeaders): boolean {
  for (const [name] of headerPairs(raw)) if (name.toLowerCase().startsWith('impersonate-')) return true;
  return false;
}

/** `unclear`: it cannot be told, or it asks for more than a user and groups. */
export type AskedImpersonation =
  | { readonly kind: 'none' }
  | { readonly kind: 'asked'; readonly user: string; readonly groups: readonly string[] }
  | { readonly kind: 'unclear'; readonly why: string };

/** As whom the caller tries to act. Neither a UID nor extras can be asked for here. */
export function readImpersonation(raw: RawHeaders): AskedImpersonation {
  if (!asksToImpersonate(raw)) return { kind: 'none' };
  const [user, another] = headerValues(raw, 'impersonate-user');
  const groups = headerValues(raw, 'impersonate-group');
  if (user === undefined || user === '') return { kind: 'unclear', why: 'it names no user to act as' };
  if (another !== undefined) return { kind: 'unclear', why: 'it names more than one user to act as' };
  for (const [name] of headerPairs(raw)) {
    const lower = name.toLowerCase();
    if (lower.startsWith('impersonate-') && lower !== 'impersonate-user' && lower !== 'impersonate-group') {
      return { kind: 'unclear', why: 'only a user and groups can be acted as' };
    }
  }
  return { kind: 'asked', user, groups };
}

/** What of a client's request may travel on: no hop-by-hop, no identity, no claims about where it came from. */
export function fromClient(raw: RawHeaders): string[] {
  return keep(raw, (name) => !isIdentity(name) && !PROVENANCE.has(name) && !startsWithAny(name, PROVENANCE_PREFIXES));
}

/** What of a request out of a tunnel may reach the kube-apiserver: as above, but the gateway's own words stay. */
export function fromTunnel(raw: RawHeaders): string[] {
  return keep(raw, (name) => !isIdentity(name));
}

/** Of one origin, the gateway's: a cluster must not set state there, where it would hold for other clusters too. */
const ORIGIN_WIDE = new Set([
  'alt-svc',
  'clear-site-data',
  'nel',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
]);

/** What of an answer may travel back. */
export function fromServer(raw: RawHeaders): string[] {
  return keep(raw, (name) => !ORIGIN_WIDE.has(name) && name !== 'fairlead-upstream-ms');
}

/**
 * An answer that names its record in the audit log, as a kube-apiserver names its own (k8s.io/apiserver, `WithAuditInit`). Ours wins, whatever the far end calls it: the
 * kube-apiserver was sent this id and has it in its own log, and what answers in its place (an aggregated API, a pod behind `proxy`) must not name another's record.
 */
export function withAuditId(answer: RawHeaders, id: string): string[] {
  const others = [...headerPairs(answer)].filter(([name]) => name.toLowerCase() !== 'audit-id');
  return [...others.flat(), 'Audit-Id', id];
}

/** How a request says where its body ends (RFC 9112 6.3). */
export type BodyFraming = 'none' | 'length' | 'chunked';

/**
 * The framing of an HTTP/1.1 request, from the raw list, because Node's parsed headers leave out what is beyond the
 * thousandth. Throws INVALID_ARGUMENT for what two parsers could read differently: both framings, a repeated one, or a
 * transfer coding other than chunked.
 */
export function bodyFraming(raw: RawHeaders): BodyFraming {
  const [lengths, codings] = [headerValues(raw, 'content-length'), headerValues(raw, 'transfer-encoding')];
  if (lengths.length + codings.length > 1) throw ambiguous('more than one');
  if (codings.length > 0 && codings[0]?.toLowerCase() !== 'chunked')
    throw ambiguous('a transfer coding besides chunked');
  if (lengths.length > 0 && !/^\d{1,15}$/.test(lengths[0] as string)) throw ambiguous('an unreadable one');
  if (codings.length > 0) return 'chunked';
  return lengths.length === 0 || Number(lengths[0]) === 0 ? 'none' : 'length';
}

function ambiguous(what: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the request must say where its body ends once, and says ${what}`);
}

function keep(raw: RawHeaders, wanted: (lowerCaseName: string) => boolean): string[] {
  const named = connectionOptions(raw);
  const kept: string[] = [];
  for (const [name, value] of headerPairs(raw)) {
    const lower = name.toLowerCase();
    if (lower.startsWith(':') || HOP_BY_HOP.has(lower) || named.has(lower) || !wanted(lower)) continue;
    const cleaned = lower === 'sec-websocket-protocol' ? withoutBearer(value) : value;
    if (cleaned !== null) kept.push(name, cleaned);
  }
  return kept;
}

/**
 * Names listed in Connection headers. Host and Content-Length cannot be removed that way: without its length a body
 * would be read as the next request.
 */
function connectionOptions(raw: RawHeaders): Set<string> {
  const named = new Set<string>();
  for (const [name, value] of headerPairs(raw)) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) named.add(option.trim().toLowerCase());
  }
  named.delete('host');
  named.delete('content-length');
  return named;
}

function isIdentity(lowerCaseName: string): boolean {
  return IDENTITY.has(lowerCaseName) || startsWithAny(lowerCaseName, IDENTITY_PREFIXES);
}

function startsWithAny(name: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => name.startsWith(prefix));
}

/** A browser passes a bearer token as a WebSocket subprotocol; it is a credential like any other. */
function withoutBearer(value: string): string | null {
  const kept = value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '' && !item.toLowerCase().startsWith(BEARER_SUBPROTOCOL));
  return kept.length > 0 ? kept.join(', ') : null;
}
