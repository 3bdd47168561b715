import { once } from 'node:events';
import { connect, createSecureServer, type ClientHttp2Session, type ServerHttp2Session } from 'node:http2';
import { connect as netConnect, type AddressInfo, type Socket } from 'node:net';
import type { ClientHttp2Stream, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { create } from '@bufbuild/protobuf';
import { OpenSchema, type Open } from '@fairlead/proto';
import { testAuthority } from '@fairlead/testing';
import {
  ReadAhead,
  TUNNEL_PATH,
  TUNNEL_SESSION_OPTIONS,
  TunnelConnection,
  acceptGrpcStream,
  requestGrpcStream,
  widenConnectionWindow,
} from '../link/index.js';

/**
 * One HTTP/2 session over real TLS, as an agent link is: the client dials, reads ahead, and parks streams; the server
 * opens tunnels on them.
 */
export interface SessionPair extends AsyncDisposable {
  readonly client: ClientHttp2Session;
  readonly server: ServerHttp2Session;
  /** The client's end of one new gRPC stream, and the server's. */
  stream(): Promise<{ client: ClientHttp2Stream; server: ServerHttp2Stream }>;
  /** A parked tunnel: its agent (acceptor, client) and its gateway (opener, server). */
  parked(): Promise<{ acceptor: TunnelConnection; opener: TunnelConnection }>;
  /** The same, opened. */
  opened(): Promise<{ acceptor: TunnelConnection; opener: TunnelConnection }>;
  /** Ends the TCP connection as a crash would. */
  cut(): void;
}

export const OPEN: Open = create(OpenSchema, {
  tunnelId: 't',
  tenantId: 'default',
  clusterId: 'c',
  generation: 1,
  target: { case: 'kubeApi', value: { user: 'alice' } },
});

export async function sessionPair(): Promise<SessionPair> {
  const authority = await testAuthority();
  const { privateKeyPem, chainPem } = await authority.serving(['127.0.0.1']);
  const listener = createSecureServer({ ...TUNNEL_SESSION_OPTIONS, key: privateKeyPem, cert: chainPem });
  const sockets: Socket[] = [];
  listener.on('secureConnection', (socket: Socket) => sockets.push(socket));
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const accepted = once(listener, 'session');
  const transport = new ReadAhead(netConnect({ host: '127.0.0.1', port, noDelay: true }));
  const client = connect(`https://127.0.0.1:${port}`, {
    ...TUNNEL_SESSION_OPTIONS,
    createConnection: () =>
      tlsConnect({
        socket: transport,
        ca: [...authority.roots],
        ALPNProtocols: ['h2'],
        checkServerIdentity: () => undefined,
      }),
  });
  client.on('error', () => undefined);
  const [server] = (await accepted) as [ServerHttp2Session];
  server.on('error', () => undefined);
  widenConnectionWindow(client);
  widenConnectionWindow(server);

  const stream: SessionPair['stream'] = async () => {
    const arrived = once(server, 'stream');
    const requested = requestGrpcStream(client, TUNNEL_PATH);
    const [answered] = (await arrived) as [ServerHttp2Stream];
    return { client: requested, server: acceptGrpcStream(answered) };
  };
  const parked: SessionPair['parked'] = async () => {
    const ends = await stream();
    return {
      acceptor: new TunnelConnection(ends.client, 'acceptor'),
      opener: new TunnelConnection(ends.server, 'opener'),
    };
  };
  return {
    client,
    server,
    stream,
    parked,
    opened: async () => {
      const tunnel = await parked();
      tunnel.acceptor.once('open', () => tunnel.acceptor.accept());
      await tunnel.opener.open(OPEN, new AbortController().signal);
      return tunnel;
    },
    cut: () => sockets.forEach((socket) => socket.destroy()),
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/**
 * All of one direction, until its end; a pause after each half megabyte makes a slow reader. Not by `for await`, which
 * destroys a Duplex whose other direction still goes on.
 */
export function collect(tunnel: Duplex, pauseMs = 0): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let unpaused = 0;
    tunnel.on('data', (piece: Buffer) => {
      pieces.push(piece);
      unpaused += piece.length;
      if (pauseMs === 0 || unpaused < 512 * 1024) return;
      unpaused = 0;
      tunnel.pause();
      setTimeout(() => tunnel.resume(), pauseMs);
    });
    tunnel.once('end', () => resolve(Buffer.concat(pieces)));
    tunnel.once('error', reject);
  });
}

/** Bytes that differ everywhere, so that a lost, doubled or swapped piece shows. */
export function pattern(length: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = seed;
  for (let at = 0; at < length; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[at] = state >>> 16;
  }
  return bytes;
}
