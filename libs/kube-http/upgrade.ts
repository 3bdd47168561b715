import { createHash } from 'node:crypto';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { FairleadError } from '@fairlead/errors';
import { bodyFraming, headerPairs, type RawHeaders } from './request-headers.js';

/** What Kubernetes' clients switch to for exec, attach and port-forward, and what a pod behind `…/proxy` may. */
const PROTOCOLS = ['websocket', 'SPDY/3.1'] as const;

/** A request to go on in another protocol (RFC 9110, 7.8), as it was read by `readUpgrade`. */
export interface Upgrade {
  readonly protocol: (typeof PROTOCOLS)[number];
  /** Streaming protocols that the client offered, any of which the server may choose. */
  readonly offered: ReadonlySet<string>;
  /** Of a WebSocket: what the server must answer to the client's key (RFC 6455, 4.2.2). */
  readonly acceptKey: string | undefined;
}

/**
 * The upgrade that a request asks for. Throws INVALID_ARGUMENT, saying what is wrong, for whatever a server behind us could read differently: several
 * protocols, one that Kubernetes does not use (`h2c`), a body, HTTP/1.0, a WebSocket without its key.
 */
export function readUpgrade({ httpVersion, method, rawHeaders }: IncomingMessage): Upgrade {
  if (httpVersion !== '1.1') throw refused('only HTTP/1.1 has upgrades');
  const protocol = protocolAsked(rawHeaders);
  if (!protocol) throw refused(`an upgrade must name one protocol, ${PROTOCOLS.join(' or ')}`);
  if (bodyFraming(rawHeaders) !== 'none') throw refused('an upgrade has no body');
  if (protocol === 'SPDY/3.1') {
    return { protocol, offered: new Set(valuesOf(rawHeaders, 'x-stream-protocol-version')), acceptKey: undefined };
  }
  if (method !== 'GET') throw refused('a WebSocket begins with GET');
  const [key = '', ...more] = valuesOf(rawHeaders, 'sec-websocket-key');
  if (more.length > 0 || !/^[A-Za-z0-9+/]{22}==$/.test(key)) throw refused('a WebSocket needs one Sec-WebSocket-Key');
  return {
    protocol,
    offered: new Set(valuesOf(rawHeaders, 'sec-websocket-protocol')),
    acceptKey: createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64'),
  };
}

/** The one that an upgrade names, whether or not the rest of it is in order; undefined: none of ours, or several. */
export function protocolAsked(rawHeaders: RawHeaders): Upgrade['protocol'] | undefined {
  const asked = valuesOf(rawHeaders, 'upgrade');
  if (asked.length !== 1) return undefined;
  return PROTOCOLS.find((each) => each.toLowerCase() === asked[0]?.toLowerCase());
}

/** Asks the next hop for it, or says that it was agreed to: the headers of one hop, which are dropped from what is passed on. */
export function upgradeHeaders({ protocol }: Upgrade): string[] {
  return ['Connection', 'Upgrade', 'Upgrade', protocol];
}

/** What a server made of a request to upgrade. */
export type UpgradeAnswer =
  /** From here on both speak the other protocol; what the server said in it already is the first to be read. */
  | { readonly kind: 'switched'; readonly connection: Duplex; readonly headers: RawHeaders }
  /** An ordinary answer. Its connection serves nothing else: a peer may take what follows for the other protocol (CVE-2018-1002105). */
  | { readonly kind: 'answered'; readonly answer: IncomingMessage };

/**
 * Sends `request`, which has `upgradeHeaders` among its own, and waits for its answer. Rejects with PROTOCOL_ERROR, its connection ended, when the
 * server switches to something else than it was asked for, with TUNNEL_RESET when there is no answer, and with whatever breaks the request.
 */
export function requestUpgrade(request: ClientRequest, upgrade: Upgrade, server: string): Promise<UpgradeAnswer> {
  return new Promise((resolve, reject) => {
    // What fails after the first failure has been told already.
    request.on('error', () => undefined);
    request.once('error', reject);
    request.once('response', (answer) => {
      if (answer.statusCode !== 101) resolve({ kind: 'answered', answer });
      else request.destroy(bogus(server, 'does not say to what it switches'));
    });
    request.once('upgrade', (answer, connection, early) => {
      const wrong = whyWrong(upgrade, answer.rawHeaders);
      if (wrong !== null) {
        connection.on('error', () => undefined);
        connection.destroy();
        reject(bogus(server, wrong));
        return;
      }
      if (early.length > 0) connection.unshift(early);
      resolve({ kind: 'switched', connection, headers: answer.rawHeaders });
    });
    request.once('close', () => reject(new FairleadError('TUNNEL_RESET', `${server} ended without an answer`)));
    request.end();
  });
}

function whyWrong({ protocol, offered, acceptKey }: Upgrade, raw: RawHeaders): string | null {
  const said = valuesOf(raw, 'upgrade');
  if (said.length !== 1 || said[0]?.toLowerCase() !== protocol.toLowerCase()) return 'switches to another protocol';
  if (acceptKey !== undefined && valuesOf(raw, 'sec-websocket-accept').join() !== acceptKey)
    return 'answers another WebSocket than the one it was asked for';
  const chosen = valuesOf(raw, acceptKey === undefined ? 'x-stream-protocol-version' : 'sec-websocket-protocol');
  if (chosen.length > 1 || chosen.some((each) => !offered.has(each)))
    return 'chooses a streaming protocol that was not offered';
  return null;
}

/** Elements of a comma-separated header, from all of its lines. */
function valuesOf(raw: RawHeaders, lowerCaseName: string): string[] {
  return [...headerPairs(raw)]
    .filter(([name]) => name.toLowerCase() === lowerCaseName)
    .flatMap(([, value]) => value.split(','))
    .map((element) => element.trim())
    .filter((element) => element !== '');
}

function refused(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', why);
}

function bogus(server: string, how: string): FairleadError {
  return new FairleadError('PROTOCOL_ERROR', `${server} ${how}; the upgrade was broken off`);
}
