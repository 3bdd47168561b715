import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { connectHttp2, type Http2Session } from '@fairlead/http2';
import { RELAY_PATH, RELAY_SESSION_OPTIONS, TunnelConnection, requestGrpcStream } from '@fairlead/tunnel/link';
import { expect } from 'vitest';
import { hostAndPort, type GatewaySubject } from './gateway-subject.js';
import { callOn, dialHttp2, type LinkedAgent } from './scripted-agent.js';
import { TunnelScript } from './tunnel-script.js';
import { data, eof, opened } from './wire.js';

/** Another replica, as far as the relay's door can tell. */
export interface ScriptedReplica extends AsyncDisposable {
  /** A Tunnel call of which the test decides every byte. */
  tunnel(): TunnelScript;
  /** One driven by the product's own opener, for tests of the far end. */
  opener(): TunnelConnection;
}

export async function dialRelay(subject: GatewaySubject): Promise<ScriptedReplica> {
  const { relay, rootsPem, gateway } = subject;
  const http2 = await dialHttp2(relay, rootsPem, gateway);
  const own = await dialOwn(subject);
  return {
    tunnel: () => new TunnelScript(callOn(http2, RELAY_PATH)),
    opener: () => new TunnelConnection(requestGrpcStream(own, RELAY_PATH), 'opener'),
    [Symbol.asyncDispose]: () => {
      http2.destroy();
      own.destroy();
      return Promise.resolve();
    },
  };
}

async function dialOwn({ relay, rootsPem, gateway }: GatewaySubject): Promise<Http2Session> {
  const socket = connect({
    ...hostAndPort(relay),
    ca: [...rootsPem],
    key: gateway.keyPem,
    cert: gateway.chainPem,
    ALPNProtocols: ['h2'],
    // The chain is verified; the name is a SPIFFE identity, which Node does not know.
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  return connectHttp2(socket, RELAY_SESSION_OPTIONS);
}

export interface DoorOutcome {
  readonly status: number;
  readonly body: string;
}

/** One request at the Kubernetes API door: makes the gateway open a tunnel on a session of its own. A GET may be repeated where its way is lost. */
export function callSubject(
  { door, rootsPem, token, clusterName }: GatewaySubject,
  method: 'GET' | 'POST' = 'GET',
): Promise<DoorOutcome> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...hostAndPort(door),
      method,
      ca: [...rootsPem],
      path: `/clusters/${clusterName}/api`,
      headers: { authorization: `Bearer ${token}` },
      agent: false,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    });
    outgoing.end();
  });
}

const OK = data('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');

/** Has a request answered on this link, parking tunnels until one is opened for it: the session still works. */
export async function stillWorks(subject: GatewaySubject, { agent }: LinkedAgent): Promise<void> {
  const answer = callSubject(subject);
  // One may still go to somebody whose going away has not been heard of yet; more than a few: this link is what went.
  let lost = 0;
  while (!(await serveOne(agent.park()))) {
    lost += 1;
    if (lost > MAX_LOST) throw new Error(`${lost} parked tunnels were taken away before a request came`);
  }
  expect(await answer).toEqual({ status: 200, body: 'ok' });
}

/** Parked tunnels that may be taken away before one is used. */
const MAX_LOST = 100;

/** False if the tunnel was taken away before a request came through it. */
async function serveOne(tunnel: TunnelScript): Promise<boolean> {
  const served = async (): Promise<boolean> => {
    await tunnel.heard('open');
    tunnel.send(opened);
    await tunnel.heard('data');
    tunnel.send(OK, eof);
    return true;
  };
  return Promise.race([served(), tunnel.gone().then(() => false)]);
}
