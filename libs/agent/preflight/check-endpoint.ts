import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { FairleadError } from '@fairlead/errors';
import { spkiPin } from '@fairlead/pki';
import type { GatewayConnection } from '@fairlead/tunnel/agent';
import { dial, isExempt, type Endpoint, type ProxySettings } from '../forward-proxy.js';
import { connectToGateway } from '../gateway-connection.js';
import { found, missed, type Finding } from './finding.js';

export interface EndpointCheckOptions {
  readonly endpoint: Endpoint;
  readonly proxy: ProxySettings;
  /** Roots that count: the manifest's, the token's. */
  readonly pins: readonly string[];
  /** The manifest's; absent: any. */
  readonly trustDomain?: string | undefined;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

const DEADLINE_MS = 10_000;
const RPC_TIMEOUT_MS = 10_000;

/**
 * From the name to a gateway that proves a pinned root, step by step; stops at the first step that fails, because the
 * next ones need it. Sends nothing but the public question for the discovery document.
 */
export async function* checkEndpoint(options: EndpointCheckOptions): AsyncGenerator<Finding> {
  const { endpoint, proxy, pins } = options;
  const where = `${endpoint.host}:${endpoint.port}`;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(3 * DEADLINE_MS)]);
  const name = await checkName(endpoint, proxy, where);
  yield name;
  if (!name.ok) return;
  const route = await checkRoute(endpoint, proxy, where, signal);
  yield route;
  if (!route.ok) return;
  try {
    using connection = await connectToGateway({ endpoint, proxy, signal, trust: { kind: 'discovery' } });
    yield found('tls', where, 'TLS 1.3 and HTTP/2 from end to end');
    yield checkClock(connection, where, options.nowMs);
    yield* checkRoots(connection, options, where);
  } catch (error) {
    const remedy =
      error instanceof FairleadError && error.code === 'UNTRUSTED_PEER'
        ? 'a proxy or load balancer opens TLS, or this is another service: let it pass TCP through, without looking into it'
        : 'look whether a firewall or proxy ends connections of this kind; the endpoint must be the link port of a gateway';
    yield missed('tls', where, error, remedy);
  }
  if (pins.length === 0) yield missed('pin', where, 'there is no root pin', 'set FAIRLEAD_ROOT_PINS, or give a token');
}

async function checkName(
  { host, port }: Endpoint,
  { httpsProxy, noProxy }: ProxySettings,
  where: string,
): Promise<Finding> {
  if (isIP(host) !== 0) return found('dns', where, 'an address: nothing to resolve');
  if (httpsProxy !== undefined && !isExempt({ host, port }, noProxy))
    return found('dns', where, 'the proxy resolves it');
  try {
    const addresses = await lookup(host, { all: true });
    return found('dns', where, addresses.map(({ address }) => address).join(', '));
  } catch (error) {
    return missed('dns', where, error, 'check the name, and that the cluster’s DNS resolves names of that zone');
  }
}

async function checkRoute(
  endpoint: Endpoint,
  proxy: ProxySettings,
  where: string,
  signal: AbortSignal,
): Promise<Finding> {
  const through = proxy.httpsProxy !== undefined && !isExempt(endpoint, proxy.noProxy);
  try {
    const socket = await dial(endpoint, proxy, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]));
    socket.on('error', () => undefined).destroy();
    return found('route', where, through ? 'reached through the proxy' : 'reached directly');
  } catch (error) {
    const remedy = through
      ? 'check HTTPS_PROXY and the proxy’s credentials, and that the proxy allows CONNECT to this port; or list the endpoint in NO_PROXY'
      : 'allow TCP from the agent’s pod to it: network policies, firewalls, routes; or set HTTPS_PROXY';
    return missed('route', where, error, remedy);
  }
}

/** A certificate that is not valid yet, or any more, is far more often a wrong clock than a wrong certificate. */
function checkClock({ http2 }: GatewayConnection, where: string, nowMs: number): Finding {
  const certificate = http2.socket.getPeerX509Certificate();
  if (!certificate) return found('clock', where, 'the gateway showed no certificate to compare it with');
  const [beginMs, endMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  if (nowMs >= beginMs && nowMs <= endMs) return found('clock', where, 'within the life of the gateway’s certificate');
  const offBy = nowMs < beginMs ? `${describeMs(beginMs - nowMs)} behind` : `${describeMs(nowMs - endMs)} past`;
  return missed(
    'clock',
    where,
    `this node’s clock is ${offBy} the life of the gateway’s certificate`,
    'set the node’s clock by NTP; if it is right, the gateway’s is wrong, or it could not renew its certificate',
  );
}

async function* checkRoots(
  connection: GatewayConnection,
  { endpoint, proxy, pins, trustDomain: own, signal }: EndpointCheckOptions,
  where: string,
): AsyncGenerator<Finding> {
  const { rootsPem, trustDomain } = await connection.rpc.discover({}, { timeoutMs: RPC_TIMEOUT_MS, signal });
  const shown = rootsPem.filter((pem) => pins.includes(pinOf(pem)));
  if (shown.length === 0) {
    const seen = rootsPem.map(pinOf).join(', ');
    const remedy =
      'this is another installation, somebody is in between, or its root has changed: fetch a new manifest';
    yield missed('pin', where, `none of its roots (${seen || 'none'}) is one of the pinned`, remedy);
    return;
  }
  if (own !== undefined && trustDomain !== own) {
    const remedy = 'this is another installation, whose root is the same: look at FAIRLEAD_ENDPOINTS';
    yield missed('pin', where, `it is of the trust domain ${trustDomain}, and this agent of ${own}`, remedy);
    return;
  }
  try {
    using _proven = await connectToGateway({
      endpoint,
      proxy,
      signal,
      trust: { kind: 'roots', rootsPem: shown, trustDomain },
    });
    yield found('pin', where, `a gateway of ${trustDomain} under the pinned root`);
  } catch (error) {
    const remedy = 'it shows the pinned root and cannot prove that it belongs to it: somebody is in between';
    yield missed('pin', where, error, remedy);
  }
}

/** Empty for what is no certificate: an untrusted peer may send anything. */
function pinOf(pem: string): string {
  try {
    return spkiPin(pem);
  } catch {
    return '';
  }
}

function describeMs(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}
