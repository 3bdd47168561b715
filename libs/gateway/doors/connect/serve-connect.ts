import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { FairleadError } from '@fairlead/errors';
import { headerValues } from '@fairlead/kube-http';
import { TcpSchema } from '@fairlead/proto';
import { readConnectTarget } from '@fairlead/targets';
import { readTraceparent } from '@fairlead/tunnel/core';
import type { OpenedTunnel } from '@fairlead/tunnel/gateway';
import { bridge, whileOpen } from '@fairlead/tunnel/link';
import { clientAddressOf } from '@fairlead/limits';
import type { Ending } from '../../passage/outcome.js';
import type { Arrival, Passage } from '../../passage/passage.js';
import { userAgentOf } from '../../passage/user-agent.js';
import { admitTarget, identifyClient, whyShutOut } from './admission.js';
import { ESTABLISHED, refusal } from './answers.js';
import type { ConnectContext } from './connect-context.js';
import { endStalled, noticeVanished } from './vanished-clients.js';

/** After a refusal, how long the client has to read it. */
const READ_REFUSAL_MS = 2_000;
/** Of a method that is none of ours. */
const MAX_TOLD_METHOD = 16;

/**
 * One CONNECT request, from its head to the end of its connection. Nothing is written before the target is there or is
 * refused; what the client sent early goes first. Rejects only for a fault of ours.
 */
export async function serveConnect(
  context: ConnectContext,
  request: IncomingMessage,
  socket: TLSSocket,
  early: Buffer,
): Promise<void> {
  socket.on('error', () => undefined);
  await whileOpen(socket, 'the client went away', (signal) =>
    context.passages.pass(
      arrivalAt(socket, 'CONNECT', request.rawHeaders),
      (passage) => {
        signal.addEventListener('abort', () => passage.peerLeft(), { once: true });
        return serve(context, passage, { request, socket, early, signal });
      },
      (_passage, { failure, status }) => answerAndClose(socket, refusal(failure, status).text),
    ),
  );
}

/** What is told of a request before it is looked at. */
export function arrivalAt(socket: Socket, method: string, rawHeaders: readonly string[] = []): Arrival {
  return {
    address: clientAddressOf(socket),
    asked: { method: method.slice(0, MAX_TOLD_METHOD), userAgent: userAgentOf(rawHeaders) },
    caller: readTraceparent(headerValues(rawHeaders, 'traceparent')),
    span: { name: 'CONNECT', attributes: { 'http.request.method': 'CONNECT' } },
  };
}

interface Requested {
  readonly request: IncomingMessage;
  readonly socket: TLSSocket;
  readonly early: Buffer;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

async function serve(context: ConnectContext, passage: Passage, requested: Requested): Promise<Ending> {
  const { request, socket, signal } = requested;
  const who = identifyClient(context.directory, context.trustDomain, socket);
  const { clientId: id, name, tenantId } = who.client;
  const proof = { kind: 'certificate', id: who.certificate.serial } as const;
  passage.identify({ kind: 'client', id, name, tenantId, proof });
  // It may have become known since its handshake.
  context.connections.admit(socket, socket, id);
  passage.limit();
  const target = targetOf(request);
  passage.ask({ target });
  const asking = { serverName: serverNameOf(socket), authorization: proxyAuthorization(request), target };
  const { cluster, grantIds } = admitTarget(context.directory, who.client, asking, Date.now());
  passage.decided({ grantIds });
  passage.admit(cluster);
  await passage.letGo();
  signal.throwIfAborted();
  const asked = { case: 'tcp', value: create(TcpSchema, target) } as const;
  const tunnel = await context.opener.open(cluster, asked, signal, passage.span.context);
  passage.opened({ way: tunnel });
  passage.connected();
  return carry(context, passage, requested, tunnel, () =>
    whyShutOut(context.directory, who, { clusterId: cluster.clusterId, target }, Date.now()),
  );
}

function targetOf(request: IncomingMessage): { readonly host: string; readonly port: number } {
  assertPlainConnect(request);
  const target = readConnectTarget(request.url ?? '');
  if (target) return target;
  throw new FairleadError('INVALID_ARGUMENT', 'the target must be host:port, with an IPv6 address in brackets');
}

function serverNameOf({ servername }: TLSSocket): string | undefined {
  return typeof servername === 'string' ? servername : undefined;
}

/** A body of a CONNECT could be read as the first bytes for the target, or not (RFC 9110, 9.3.6). */
function assertPlainConnect({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.1') throw new FairleadError('INVALID_ARGUMENT', 'only HTTP/1.1 is spoken here');
  if (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0') {
    throw new FairleadError('INVALID_ARGUMENT', 'a CONNECT request has no body');
  }
}

function proxyAuthorization({ rawHeaders }: IncomingMessage): string | undefined {
  const [value, another] = headerValues(rawHeaders, 'proxy-authorization');
  if (another === undefined) return value;
  throw new FairleadError('INVALID_ARGUMENT', 'Proxy-Authorization came more than once');
}

async function carry(
  context: ConnectContext,
  passage: Passage,
  { socket, early }: Requested,
  { connection }: OpenedTunnel,
  refusedNow: () => FairleadError | null,
): Promise<Ending> {
  socket.write(ESTABLISHED);
  passage.span.event('established');
  if (early.length > 0) connection.write(early);
  const reset = (): void => context.reset(socket);
  const bytes = { toTunnel: early.length, fromTunnel: 0 };
  passage.register({
    bytes: () => ({ up: bytes.toTunnel, down: bytes.fromTunnel }),
    heldBytes: () => connection.heldBytes + socket.readableLength + socket.writableLength,
    refusedNow,
    end: reset,
  });
  endStalled(socket, context.halfClosedStallMs, reset);
  const plain = context.plainOf(socket);
  if (plain) noticeVanished(socket, plain);
  const { cause } = await bridge(socket, connection, reset, bytes);
  return { kind: 'carried', cause, endedBy: passage.endedBy, status: 200 };
}

/** What the client still sends is read and dropped for a moment: closing at once would take the answer from it. */
export function answerAndClose(socket: Socket, text: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  const timer = setTimeout(() => socket.destroy(), READ_REFUSAL_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => undefined);
  socket.resume();
  socket.end(text);
}
