import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface TcpForwarder extends AsyncDisposable {
  readonly port: number;
  /** Connections that were made, all told. */
  readonly connections: () => number;
  /** From now on nothing is forwarded and nothing is closed: a route that swallows packets. */
  blackhole(): void;
}

/** A load balancer without any wits: each connection goes to the next of these ports. */
export async function startBalancer(ports: readonly number[]): Promise<TcpForwarder> {
  let made = 0;
  let swallowing = false;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ port: ports[made % ports.length] as number, host: '127.0.0.1', noDelay: true });
    made += 1;
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('data', (chunk) => void (swallowing || to.write(chunk)));
      from.on('close', () => void (swallowing || to.destroy()));
    }
  });
  const port = await listening(server);
  return {
    port,
    connections: () => made,
    blackhole: () => (swallowing = true),
    [Symbol.asyncDispose]: () => closed(server, sockets),
  };
}

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** Targets and credentials of every CONNECT. */
  readonly asked: { target: string; authorization: string | undefined }[];
  /** Cuts every connection with a reset. */
  reset(): void;
}

/** A forward proxy of a company's network: HTTP CONNECT, answered as told. */
export async function startConnectProxy(
  answer: 'connect' | 'refuse' | 'hang' | 'demand-password',
): Promise<ConnectProxy> {
  const asked: ConnectProxy['asked'] = [];
  const sockets = new Set<Duplex>();
  const server = createHttpServer();
  server.on('connect', (request, socket) => {
    const authorization = request.headers['proxy-authorization'];
    asked.push({ target: request.url ?? '', authorization });
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (answer === 'hang') return;
    const refusal = answer === 'refuse' ? '403 Forbidden' : '407 Proxy Authentication Required';
    if (answer === 'refuse' || (answer === 'demand-password' && authorization === undefined)) {
      socket.end(`HTTP/1.1 ${refusal}\r\n\r\n`);
      return;
    }
    const [host, port] = (request.url ?? '').split(':');
    const target = connect(Number(port), host, () => socket.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    sockets.add(target);
    target.on('error', () => socket.destroy());
    target.pipe(socket).pipe(target);
  });
  const port = await listening(server);
  return {
    port,
    asked,
    reset: () => sockets.forEach((socket) => (socket as Socket).resetAndDestroy()),
    [Symbol.asyncDispose]: () => closed(server, sockets),
  };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server, sockets: Iterable<Duplex>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, 'close');
}
