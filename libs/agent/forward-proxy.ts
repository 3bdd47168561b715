import { once } from 'node:events';
import { request } from 'node:http';
import { BlockList, connect as netConnect, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { FairleadError, messageOf } from '@fairlead/errors';

/** Where to and how: directly, or across an HTTP proxy of the network's own. */
export interface ProxySettings {
  /** `http://[user:password@]host:port` or `https://…`; absent: dial directly. */
  readonly httpsProxy?: string;
  /** Hosts dialled directly: names, domain suffixes, addresses, blocks of them (CIDR), `*`; each may end in `:port`. */
  readonly noProxy: readonly string[];
  /** Asked before each dial through the proxy, so that a changed password counts at once; absent: what the URL says. */
  readonly credentials?: () => Promise<ProxyCredentials>;
}

export interface ProxyCredentials {
  /** Without a colon (RFC 7617). */
  readonly username: string;
  readonly password: string;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** What an agent calls the gateway there in its TLS handshake; default LINK_SERVER_NAME. */
  readonly serverName?: string;
}

/**
 * By this name a load balancer tells agents' links from all else that comes to its port. It is the same for every agent, so it tells an
 * onlooker nothing of a tenant or cluster; it leads nowhere, and nothing is trusted for it.
 */
export const LINK_SERVER_NAME = 'link.fairlead.invalid';

export function parseEndpoint(hostPort: string): Endpoint {
  const at = hostPort.lastIndexOf(':');
  const port = Number(hostPort.slice(at + 1));
  const host = hostPort.slice(0, at).replace(/^\[|\]$/g, '');
  if (at < 1 || host === '' || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new FairleadError('INVALID_ARGUMENT', `"${hostPort}" is not host:port`);
  }
  return { host, port };
}

/**
 * Is this host exempt from the proxy? The rules of curl and Go: exact name, suffix with or without a dot, address, block
 * of addresses, `*`; each may be limited to a port.
 */
export function isExempt({ host, port }: Endpoint, noProxy: readonly string[]): boolean {
  return noProxy.some((entry) => {
    const { pattern, onlyPort } = parseException(entry.trim().toLowerCase());
    if (pattern === '' || (onlyPort !== undefined && onlyPort !== port)) return false;
    if (pattern === '*') return true;
    if (isIP(host) !== 0) return isSameAddress(host, pattern);
    const suffix = pattern.replace(/^\*?\./, '');
    const name = host.toLowerCase();
    return suffix !== '' && (name === suffix || name.endsWith(`.${suffix}`));
  });
}

/** `[address]:port`, `name:port`, or without a port; an IPv6 address without brackets has none. */
function parseException(entry: string): { pattern: string; onlyPort: number | undefined } {
  const bare = isIP(entry.split('/')[0] ?? '') !== 0;
  const [, pattern = '', port] = (bare ? null : /^(.*?)(?::(\d+))?$/.exec(entry)) ?? [entry, entry];
  return { pattern: pattern.replace(/^\[(.*)\]$/, '$1'), onlyPort: port === undefined ? undefined : Number(port) };
}

function isSameAddress(host: string, pattern: string): boolean {
  const [network = '', bits] = pattern.split('/');
  const family = isIP(network);
  if (family === 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false;
  const most = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (prefix > most) return false;
  const type = family === 6 ? 'ipv6' : 'ipv4';
  const block = new BlockList();
  block.addSubnet(network, prefix, type);
  return isIP(host) === family && block.check(host, type);
}

/** A plain connection to the endpoint, through the proxy where the settings say so. UNAVAILABLE if there is none, until the signal at most. */
export async function dial(endpoint: Endpoint, settings: ProxySettings, signal: AbortSignal): Promise<Duplex> {
  if (settings.httpsProxy === undefined || isExempt(endpoint, settings.noProxy)) return dialDirectly(endpoint, signal);
  const proxy = new URL(settings.httpsProxy);
  const credentials = (await settings.credentials?.()) ?? credentialsIn(proxy);
  signal.throwIfAborted();
  return dialThrough(proxy, credentials, endpoint, signal);
}

async function dialDirectly({ host, port }: Endpoint, signal: AbortSignal): Promise<Duplex> {
  signal.throwIfAborted();
  const socket = netConnect({ host, port, noDelay: true, keepAlive: true });
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw unreachable(`${host}:${port}`, signal.aborted ? new Error('it took too long') : error);
  }
}

/** HTTP CONNECT (RFC 9110 9.3.6). Credentials go to the proxy only, and into no message. Node takes 16 KiB of headers from it at most. */
function dialThrough(
  proxy: URL,
  credentials: ProxyCredentials | null,
  { host, port }: Endpoint,
  signal: AbortSignal,
): Promise<Duplex> {
  const target = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const proxyHost = proxy.hostname.replace(/^\[|\]$/g, '');
  const proxyPort = Number(proxy.port || (proxy.protocol === 'https:' ? 443 : 80));
  return new Promise((resolve, reject) => {
    const connecting = request({
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...authorization(credentials) },
      signal,
      // Only without an agent is this what makes the connection.
      createConnection: () =>
        proxy.protocol === 'https:'
          ? tlsConnect({
              host: proxyHost,
              port: proxyPort,
              ...(isIP(proxyHost) === 0 ? { servername: proxyHost } : {}),
            })
          : netConnect({ host: proxyHost, port: proxyPort, noDelay: true }),
    });
    connecting.once('connect', (response, socket, head) => {
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode > 299 || head.length > 0) {
        socket.destroy();
        reject(unreachable(target, new Error(refusalOf(proxy, statusCode, credentials))));
        return;
      }
      resolve(socket);
    });
    connecting.once('response', (response) => {
      response.destroy();
      reject(unreachable(target, new Error(refusalOf(proxy, response.statusCode ?? 0, credentials))));
    });
    connecting.once('error', (error) => reject(unreachable(`${target} through the proxy ${proxy.host}`, error)));
    connecting.end();
  });
}

function refusalOf(proxy: URL, status: number, credentials: ProxyCredentials | null): string {
  const answered = `the proxy ${proxy.host} answered ${status}`;
  if (status === 407) {
    return credentials
      ? `${answered}: it refuses the user and password`
      : `${answered}: it wants a user and a password, in the Secret of proxy.credentialsSecret or in HTTPS_PROXY`;
  }
  return status === 403 ? `${answered}: it has to allow CONNECT to that host and port` : answered;
}

function credentialsIn({ username, password }: URL): ProxyCredentials | null {
  if (username === '') return null;
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}

function authorization(credentials: ProxyCredentials | null): Record<string, string> {
  if (!credentials) return {};
  const pair = `${credentials.username}:${credentials.password}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

function unreachable(target: string, error: unknown): FairleadError {
  return new FairleadError('UNAVAILABLE', `cannot reach ${target}: ${messageOf(error)}`, { cause: error });
}
