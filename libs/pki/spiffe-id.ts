import { FairleadError } from '@fairlead/errors';

/** Who a certificate speaks for. Source: SPIFFE-ID specification, https://spiffe.io/docs/latest/spiffe-specs/spiffe-id/ */
export type SpiffeId =
  | { readonly kind: 'agent'; readonly trustDomain: string; readonly clusterId: string }
  | { readonly kind: 'gateway'; readonly trustDomain: string; readonly name: string }
  | { readonly kind: 'service'; readonly trustDomain: string; readonly name: string }
  /** A program at the CONNECT door; `name` is its client id. */
  | { readonly kind: 'client'; readonly trustDomain: string; readonly name: string };

/** `spiffe://<trust domain>/cluster/<id>/agent`, `…/gateway/<name>`, `…/service/<name>`, `…/client/<id>`. INVALID_ARGUMENT for parts it could not read back. */
export function formatSpiffeId(id: SpiffeId): string {
  const uri = `spiffe://${id.trustDomain}/${pathOf(id)}`;
  if (parseSpiffeId(uri) === null) {
    throw new FairleadError('INVALID_ARGUMENT', `no SPIFFE id can be made of ${JSON.stringify(id)}`);
  }
  return uri;
}

/**
 * The identity in a URI, or null. Only the exact spelling that formatSpiffeId writes is read: no upper case, port, query,
 * percent-encoding or trailing slash, so two spellings never mean one identity.
 */
export function parseSpiffeId(uri: string): SpiffeId | null {
  const [, trustDomain = '', path = ''] = /^spiffe:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? [];
  if (!isTrustDomain(trustDomain)) return null;
  const [first, second = '', third, ...rest] = path.split('/');
  if (rest.length > 0) return null;
  if (first === 'cluster' && third === 'agent' && CLUSTER_ID.test(second)) {
    return { kind: 'agent', trustDomain, clusterId: second };
  }
  if (third !== undefined || !NAME.test(second)) return null;
  return first === 'gateway' || first === 'service' || first === 'client'
    ? { kind: first, trustDomain, name: second }
    : null;
}

/** A trust domain as SPIFFE spells it: at most 255 lower-case letters, digits, dots, dashes and underscores. */
export function isTrustDomain(text: string): boolean {
  return /^[a-z0-9._-]{1,255}$/.test(text);
}

/** What a gateway, a service or a client may be called: a DNS label. */
export function isSpiffeName(text: string): boolean {
  return NAME.test(text);
}

const CLUSTER_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

function pathOf(id: SpiffeId): string {
  return id.kind === 'agent' ? `cluster/${id.clusterId}/agent` : `${id.kind}/${id.name}`;
}
