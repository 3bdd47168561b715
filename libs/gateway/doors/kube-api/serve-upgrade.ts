import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import {
  ordinaryAnswer,
  protocolAsked,
  readStreamRequest,
  readUpgrade,
  requestUpgrade,
  switchProtocols,
  upgradeHeaders,
  withAuditId,
  type AskedHost,
  type Upgrade,
} from '@fairlead/kube-http';
import { TunnelConnection, bridge } from '@fairlead/tunnel/link';
import type { Asked, Ending } from '../../passage/outcome.js';
import type { Passage } from '../../passage/passage.js';
import { askedHostOf, arrivalOf } from './addressed.js';
import type { Admission } from './admission.js';
import { carriedStatement } from './carried-statement.js';
import { WebSocketEnd } from './end-websocket.js';
import { ANSWER_TIMEOUT_MS, asFailure, headersBeyond, passAnswer, requestThrough, tooSlow } from './forward.js';
import { answerFailure } from './refuse.js';
import { admitRequest, lookedAtAgain, type KubeApiContext } from './serve-request.js';
import { subjectOfUpgrade } from './subject-of.js';

/**
 * One request to upgrade (exec, attach, port-forward, and what a pod behind `…/proxy` offers), from its head to the end of its connection. It has a
 * tunnel of its own, which is never given back to the pool. Rejects only for a fault of ours.
 */
export async function serveUpgrade(
  context: KubeApiContext,
  incoming: IncomingMessage,
  socket: Duplex,
  early: Buffer,
): Promise<void> {
  // Nobody else listens to this socket now: a client that resets it must not end the process.
  socket.on('error', () => socket.destroy());
  const host = askedHostOf(incoming, context.clusterDomain);
  const arrival = arrivalOf(incoming, incoming.socket, host);
  const outgoing = answerOn(incoming, socket, (failure) => context.passages.turnAway(arrival, failure));
  if (!outgoing) return;
  outgoing.on('error', () => undefined);
  await context.passages.pass(
    arrival,
    (passage) => serve(context, passage, { incoming, outgoing, host, socket, early }),
    (passage, failed) => answerFailure(passage, failed, context.connections, incoming, outgoing),
  );
}

/** Undefined, and the connection is ended, for whoever does not wait for what it asked for before. */
function answerOn(
  incoming: IncomingMessage,
  socket: Duplex,
  turnAway: (failure: FairleadError) => void,
): ServerResponse | undefined {
  try {
    return ordinaryAnswer(incoming, socket);
  } catch (error) {
    socket.destroy();
    turnAway(toFairleadError(error));
    return undefined;
  }
}

interface Requested {
  readonly incoming: IncomingMessage;
  /** For an answer that is not 101. */
  readonly outgoing: ServerResponse;
  readonly host: AskedHost;
  readonly socket: Duplex;
  /** What came behind the head: it goes on only once both have switched. */
  readonly early: Buffer;
}

async function serve(context: KubeApiContext, passage: Passage, requested: Requested): Promise<Ending> {
  const { incoming, outgoing, host, socket, early } = requested;
  const { requestId } = passage;
  const protocol = protocolAsked(incoming.rawHeaders);
  const streamOf = (target: string): Pick<Asked, 'stream'> =>
    protocol ? { stream: { ...readStreamRequest(target), protocol } } : {};
  const admission = admitRequest(context, passage, incoming, host, streamOf);
  const upgrade = readUpgrade(incoming);
  const bytes = { toTunnel: 0, fromTunnel: 0 };
  const ending = new AbortController();
  let tunnel: Duplex | undefined;
  let webSocket: WebSocketEnd | undefined;
  passage.register({
    bytes: () => ({ up: bytes.toTunnel, down: bytes.fromTunnel }),
    subject: () => subjectOfUpgrade(admission),
    heldBytes: () => heldBytes(socket) + heldBytes(tunnel),
    ...lookedAtAgain(context.directory, admission),
    end: (cause) => {
      if (webSocket) webSocket.end(cause);
      else if (tunnel) socket.destroy();
      else ending.abort(cause);
    },
    leave: (cause) => {
      webSocket?.end(cause);
      return webSocket !== undefined;
    },
  });
  const answered = await ask(context, passage, admission, upgrade, { ...requested, signal: ending.signal });
  passage.connected();
  if (answered.kind === 'answered') {
    const { below } = admission.address;
    return { kind: 'answered', status: await passAnswer(answered.answer, outgoing, { below, requestId }) };
  }
  tunnel = answered.connection;
  passage.established(101);
  switchProtocols(outgoing, socket, upgrade, withAuditId(answered.headers, requestId));
  if (early.length > 0) socket.unshift(early);
  const carried = bridge(socket, tunnel, () => (webSocket ? webSocket.reset() : void socket.destroy()), bytes);
  if (upgrade.protocol === 'websocket') webSocket = new WebSocketEnd(socket, tunnel);
  const { cause } = await carried;
  return { kind: 'carried', cause, endedBy: passage.endedBy, status: 101 };
}

async function ask(
  { pool, statements }: KubeApiContext,
  passage: Passage,
  admission: Admission,
  upgrade: Upgrade,
  { incoming, socket, signal }: Requested & { readonly signal: AbortSignal },
): ReturnType<typeof requestUpgrade> {
  const statement = await carriedStatement(statements, incoming.rawHeaders, admission);
  await passage.letGo();
  if (socket.destroyed) throw new FairleadError('TUNNEL_RESET', 'the client went away');
  const tunnels = pool.poolFor(admission.cluster, admission.identity, statement).fresh();
  const headers = [...headersBeyond(incoming, admission, passage), ...upgradeHeaders(upgrade)];
  const upstream = requestThrough(tunnels, { incoming, admission, passage, signal }, headers);
  const limit = setTimeout(() => upstream.destroy(tooSlow()), ANSWER_TIMEOUT_MS);
  const onClientGone = (): void => {
    passage.peerLeft();
    upstream.destroy(new FairleadError('TUNNEL_RESET', 'the client went away'));
  };
  socket.once('close', onClientGone);
  try {
    return await requestUpgrade(upstream, upgrade, 'the far end');
  } catch (error) {
    throw asFailure(error as Error, upstream.socket !== null);
  } finally {
    clearTimeout(limit);
    socket.off('close', onClientGone);
  }
}

function heldBytes(stream: Duplex | undefined): number {
  if (stream instanceof TunnelConnection) return stream.heldBytes;
  return stream ? stream.readableLength + stream.writableLength : 0;
}
