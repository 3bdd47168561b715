import { createServer, type Server } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { FairleadError, messageOf } from '@fairlead/errors';
import { RateLimitedLog, admitInTurn, clientAddressOf } from '@fairlead/limits';
import { refusal, statusOf } from './answers.js';
import { ConnectionShares, connectShares } from '../../limits/connection-shares.js';
import { DoorPassages } from '../../passage/door-passages.js';
import { HeldOffenders } from '../hold-offenders.js';
import { receiveClients } from '../receive-clients.js';
import { DEFAULT_CONNECT_LIMITS, type ConnectContext, type ConnectDoorOptions } from './connect-context.js';
import { rememberPlainSockets } from './vanished-clients.js';
import { answerAndClose, arrivalAt, serveConnect } from './serve-connect.js';

const PROTOCOL = 'http/1.1';
const MAX_HEADER_BYTES = 16 * 1024;
const CHECK_HEADERS_MS = 2_000;
const TOO_MANY =
  'this client has too many connections open here: close some; the limit is FAIRLEAD_CONNECT_MAX_PER_CLIENT of the gateway';
const NO_CLIENT = new FairleadError(
  'CERTIFICATE_REFUSED',
  'this door wants the certificate of a client of it; make one with: fairlead client create',
);
/** The first probe of a silent connection; the kernel gives its client up after ten of them, a second apart. */
const TCP_KEEPALIVE_MS = 15_000;

/**
 * The door for programs: HTTP/1.1 CONNECT inside TLS 1.3, and only with a client certificate of ours. The unauthenticated do not
 * get past the handshake. A connection carries one CONNECT.
 */
export function createConnectDoor({ limits: changes, ...options }: ConnectDoorOptions): Server {
  const limits = { ...DEFAULT_CONNECT_LIMITS, ...changes };
  const { headersTimeoutMs, halfClosedStallMs } = limits;
  const server = createServer({
    minVersion: 'TLSv1.3',
    ALPNProtocols: [PROTOCOL],
    requestCert: true,
    rejectUnauthorized: true,
    handshakeTimeout: headersTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersTimeoutMs,
    requestTimeout: headersTimeoutMs,
    connectionsCheckingInterval: CHECK_HEADERS_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEPALIVE_MS,
    allowHalfOpen: true,
  } as Parameters<typeof createServer>[0]);
  const shares = connectShares(limits.total, limits.perIdentity.connections);
  const { unauthenticated } = shares;
  const answer = refusal(NO_CLIENT).text;
  const held = { protocol: PROTOCOL, timeoutMs: headersTimeoutMs, answer, unauthenticated };
  const offenders = new HeldOffenders(server, held);
  admitInTurn(server);
  const connections = new ConnectionShares(server, shares, TOO_MANY);
  server.maxHeadersCount = 0;
  receiveClients(server, 'connect', options, connections, offenders);
  const plainOf = rememberPlainSockets(server);
  const context: ConnectContext = {
    ...options,
    passages: new DoorPassages('connect', limits, options, statusOf),
    halfClosedStallMs,
    headersTimeoutMs,
    connections,
    plainOf,
    // TLS has no way to send a TCP reset, and a bare end of the connection is an ordinary end to most clients.
    reset: (socket) => {
      plainOf(socket)?.resetAndDestroy();
      socket.destroy();
    },
  };
  const brokenLines = new RateLimitedLog();
  server.on('connect', (request: IncomingMessage, socket: TLSSocket, early: Buffer) => {
    serveConnect(context, request, socket, early).catch((error: unknown) => {
      // A fault of ours: it costs this connection, never the process with everybody else's.
      const line = brokenLines.next({ address: clientAddressOf(socket) });
      if (line) context.logger.error('connect.broken', { reason: messageOf(error), err: error, ...line });
      context.reset(socket);
    });
  });
  refuseOthers(server, context);
  return server;
}

/** Everything that is not a CONNECT request. */
function refuseOthers(server: Server, { passages, headersTimeoutMs, logger }: ConnectContext): void {
  const turnAway = (socket: Socket, method: string, failure: FairleadError, status: number): void => {
    try {
      passages.turnAway(arrivalAt(socket, method), failure, status);
    } catch (error) {
      logger.error('connect.broken', { reason: messageOf(error), err: error });
    }
    answerAndClose(socket, refusal(failure, status).text);
  };
  server.on('request', (request, response) => {
    response.on('error', () => undefined);
    const failure = new FairleadError('INVALID_ARGUMENT', 'only CONNECT is served here');
    turnAway(request.socket, request.method ?? '', failure, 405);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { status, failure } = malformed(error.code, headersTimeoutMs);
    // Not a request that could not be read, but a connection that failed.
    if (failure === null) socket.destroy();
    else turnAway(socket as Socket, '', failure, status);
  });
}

function malformed(
  code: string | undefined,
  headersTimeoutMs: number,
): { status: number; failure: FairleadError | null } {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { status: 431, failure: new FairleadError('TOO_LARGE', 'the request head is larger than 16 KiB') };
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const why = `the request head took longer than ${headersTimeoutMs / 1_000} s`;
    return { status: 408, failure: new FairleadError('DEADLINE_EXCEEDED', why) };
  }
  const isRequest = code?.startsWith('HPE_') === true && code !== 'HPE_INVALID_EOF_STATE';
  return {
    status: 400,
    failure: isRequest
      ? new FairleadError('INVALID_ARGUMENT', 'this is no HTTP/1.1 request with a target of host:port')
      : null,
  };
}
