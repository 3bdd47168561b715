import { headerPairs, type RawHeaders } from './request-headers.js';

/** What the host of a request says about whom it is for. */
export type AskedHost =
  /** One of the door's own names, or any where clusters have no host names: the path says which cluster. */
  | { readonly kind: 'shared' }
  /** A cluster's own host name. There may be no such cluster, nor may it be a name that one could have. */
  | { readonly kind: 'cluster'; readonly cluster: string }
  /** Asked on a connection that was opened for another host (RFC 9110, section 15.5.20). */
  | { readonly kind: 'misdirected' }
  | { readonly kind: 'refused'; readonly why: string };

export interface HostOfRequest {
  /** With its pseudo-headers, as Node gives them. */
  readonly rawHeaders: RawHeaders;
  /** The name its TLS connection was opened for (SNI), if one was sent. */
  readonly serverName: string | undefined;
  /** Below which each cluster has a host name, in lower case; undefined: nowhere. */
  readonly clusterDomain: string | undefined;
}

const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]*)(?::\d{0,5})?$/;

/**
 * Reads the authority of a request. It decides, not the connection: but one that does not fit the connection's name is misdirected wherever
 * either is a cluster's, as a wildcard certificate lets a client take one cluster's connection for another's (RFC 9113, section 9.1.1).
 * Refused: more than one authority, or one that is no host (RFC 9112, section 3.2). Never throws.
 */
export function readAskedHost({ rawHeaders, serverName, clusterDomain }: HostOfRequest): AskedHost {
  const authorities = new Set<string>();
  let hosts = 0;
  for (const [name, value] of headerPairs(rawHeaders)) {
    const lower = name.toLowerCase();
    if (lower === 'host') hosts += 1;
    if (lower === 'host' || lower === ':authority') authorities.add(value.toLowerCase());
  }
  if (hosts > 1 || authorities.size > 1) return { kind: 'refused', why: 'the request names more than one host' };
  const host = HOST_AND_PORT.exec([...authorities][0] ?? '')?.[1];
  if (host === undefined) return { kind: 'refused', why: 'the host of the request is no host name' };
  if (clusterDomain === undefined) return { kind: 'shared' };
  const [asked, connected] = [canonical(host), canonical(serverName?.toLowerCase() ?? '')];
  const below = `.${clusterDomain}`;
  if (asked !== connected && (asked.endsWith(below) || connected.endsWith(below))) return { kind: 'misdirected' };
  return asked.endsWith(below) ? { kind: 'cluster', cluster: asked.slice(0, -below.length) } : { kind: 'shared' };
}

/** A name may be written with the dot of the root; SNI has none (RFC 6066, section 3). */
function canonical(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
