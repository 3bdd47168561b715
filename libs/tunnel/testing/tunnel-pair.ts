import { once } from 'node:events';
import { connect as tlsConnect } from 'node:tls';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { Http2Server, connectHttp2, type Http2Session, type Http2Stream } from '@fairlead/http2';
import { OpenSchema, type Open } from '@fairlead/proto';
import { testAuthority } from '@fairlead/testing';
import { LIMITS } from '../core/index.js';
import {
  TUNNEL_PATH,
  TUNNEL_SESSION_OPTIONS,
  TunnelConnection,
  acceptGrpcStream,
  requestGrpcStream,
} from '../link/index.js';
import { startBalancer } from './tcp-servers.js';

/** One HTTP/2 session over real TLS, as an agent link is: the client dials and parks streams; the server opens tunnels on them. */
export interface SessionPair extends AsyncDisposable {
  readonly client: Http2Session;
  readonly server: Http2Session;
  /** The client's end of one new gRPC stream, and the server's. */
  stream(): Promise<{ client: Http2Stream; server: Http2Stream }>;
  /** A parked tunnel: its agent (acceptor, client) and its gateway (opener, server). */
  parked(): Promise<{ acceptor: TunnelConnection; opener: TunnelConnection }>;
  /** The same, opened. */
  opened(): Promise<{ acceptor: TunnelConnection; opener: TunnelConnection }>;
  /** Ends the TCP connection as a crash would. */
  cut(): void;
  /** From now on nothing arrives at either end, and nothing is closed. */
  blackhole(): void;
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
  const accepted = Promise.withResolvers<Http2Session>();
  const listener = new Http2Server(
    { session: TUNNEL_SESSION_OPTIONS, key: privateKeyPem, cert: chainPem },
    accepted.resolve,
  );
  listener.tls.listen(0, '127.0.0.1');
  await once(listener.tls, 'listening');
  const route = await startBalancer([(listener.tls.address() as AddressInfo).port]);
  const socket = tlsConnect({
    host: '127.0.0.1',
    port: route.port,
    ca: [...authority.roots],
    ALPNProtocols: ['h2'],
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  const client = connectHttp2(socket, TUNNEL_SESSION_OPTIONS);
  const server = await accepted.promise;
  client.setConnectionWindow(LIMITS.connectionWindowBytes);
  server.setConnectionWindow(LIMITS.connectionWindowBytes);

  const stream: SessionPair['stream'] = async () => {
    const arrived = once(server, 'stream');
    const requested = requestGrpcStream(client, TUNNEL_PATH);
    const [answered] = (await arrived) as [Http2Stream];
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
    cut: () => server.socket.destroy(),
    blackhole: () => route.blackhole(),
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      server.destroy();
      await route[Symbol.asyncDispose]();
      await listener.close();
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
