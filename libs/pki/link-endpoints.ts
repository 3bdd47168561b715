import { isIP } from 'node:net';
import { FairleadError } from '@fairlead/errors';

/** Where agents reach gateways, as a trust bundle names it. */
export interface LinkEndpoint {
  /** `host:port`, in lower case: a DNS name, an IPv4 address, or an IPv6 address in brackets. */
  readonly address: string;
  /** What agents call the gateway there in TLS (SNI), for a balancer. Absent: what they do by themselves. */
  readonly serverName?: string | undefined;
  /** A DNS label. Agents of this region come here first. Absent: it is of none. */
  readonly region?: string | undefined;
  /** 1 to 1000. Of those that are as good otherwise, it is dialled so many times as often as one of weight 1. */
  readonly weight: number;
  /** `draining`: agents leave it, and dial it only when no active one can be reached. */
  readonly state: 'active' | 'draining';
}

/** What a trust bundle says of where gateways are. */
export interface NamedEndpoints {
  /** Absent: the bundle does not say, and what was known stays. Empty: agents go by their import manifest. */
  readonly endpoints?: readonly LinkEndpoint[] | undefined;
}

/** Of a bundle. */
export const MAX_ENDPOINTS = 32;
/** Of a bundle, as JSON: what names revoked gateways must always have room beside them. */
export const MAX_ENDPOINT_BYTES = 8_192;
export const MAX_WEIGHT = 1_000;

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const NAME = new RegExp(`^(${LABEL}\\.)*${LABEL}$`);
const REGION = new RegExp(`^${LABEL}$`);
/** A last label that resolvers may read as (part of) an IPv4 address. */
const NUMERIC = /(^|\.)(\d+|0x[0-9a-f]*)$/;

/** Is it `host:port` in the one spelling that is compared, logged and dialled? */
export function isEndpointAddress(text: string): boolean {
  const [, v6, host = '', port = ''] =
    /^(?:\[([0-9a-f:.]{2,45})\]|([^\s:[\]]{1,253})):([1-9]\d{0,4})$/.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535) return false;
  return v6 === undefined ? isIP(host) === 4 || isServerName(host) : isIP(v6) === 6;
}

/** A DNS name in lower case, which no resolver takes for an address. */
export function isServerName(text: string): boolean {
  return text.length <= 253 && NAME.test(text) && !NUMERIC.test(text);
}

/** A DNS label. */
export function isRegion(text: string): boolean {
  return REGION.test(text);
}

/** Nothing where the bundle does not say: it is as it always was then. CERTIFICATE_REFUSED for what could not be read whole. */
export function writeEndpoints({ endpoints }: NamedEndpoints): NamedEndpoints {
  if (endpoints === undefined) return {};
  const written = readEndpoints({ endpoints: endpoints.map(toJson) }).endpoints ?? [];
  if (written.length !== endpoints.length)
    throw refused('an endpoint cannot be read, is there twice, or is one too many');
  const bytes = Buffer.byteLength(JSON.stringify(written));
  if (bytes > MAX_ENDPOINT_BYTES)
    throw refused(`its endpoints have ${bytes} bytes, and ${MAX_ENDPOINT_BYTES} are allowed`);
  return { endpoints: written };
}

/**
 * As it was parsed from JSON. What cannot be read is left out, and nothing is refused for it: a bundle of later makers may name
 * endpoints in other words, and the roots in it count all the same.
 */
export function readEndpoints({ endpoints }: { readonly endpoints?: unknown }): NamedEndpoints {
  if (!Array.isArray(endpoints)) return {};
  const read = endpoints.slice(0, MAX_ENDPOINTS).map(readEndpoint);
  const byAddress = new Map(read.flatMap((one) => (one ? [[one.address, one] as const] : [])));
  // Not one of them is understood: that is not the same as being told that there are none.
  return endpoints.length > 0 && byAddress.size === 0 ? {} : { endpoints: [...byAddress.values()] };
}

function readEndpoint(value: unknown): LinkEndpoint | null {
  const { address, serverName, region, weight = 1, state } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof address !== 'string' || !isEndpointAddress(address)) return null;
  if (serverName !== undefined && !(typeof serverName === 'string' && isServerName(serverName))) return null;
  if (region !== undefined && !(typeof region === 'string' && isRegion(region))) return null;
  if (typeof weight !== 'number' || !Number.isInteger(weight) || weight < 1 || weight > MAX_WEIGHT) return null;
  if (state !== 'active' && state !== 'draining') return null;
  return toJson({ address, serverName, region, weight, state });
}

/** Without what is not said. */
function toJson({ address, serverName, region, weight, state }: LinkEndpoint): LinkEndpoint {
  return {
    address,
    ...(serverName === undefined ? {} : { serverName }),
    ...(region === undefined ? {} : { region }),
    weight,
    state,
  };
}

function refused(why: string): FairleadError {
  return new FairleadError('CERTIFICATE_REFUSED', `the trust bundle is refused: ${why}`);
}
