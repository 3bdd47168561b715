import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import { rememberClient } from './client-address.js';
import { readProxyHeader } from './proxy-header.js';

export interface Balancers {
  /** Addresses and blocks of them (CIDR). Whoever has one of these says which client a connection is of, and is believed. */
  readonly networks: readonly string[];
  /** Told of each connection of theirs that was closed for its header. */
  readonly onRefused: (why: string, balancer: string) => void;
  /** From the connection's begin to the header's end; default 5,000. */
  readonly headerTimeoutMs?: number;
}

const HEADER_TIMEOUT_MS = 5_000;

/**
 * Takes connections from balancers with a header of the PROXY protocol, version 2, before anybody else hears of them; from there on
 * `clientAddressOf` tells their clients. What comes from elsewhere is served as it comes: a header there is no TLS, and its handshake fails.
 * To be called last before the server listens: whoever wants to hear of connections has to be among its listeners. Without networks it
 * changes nothing.
 */
export function acceptFromBalancers(
  server: Server,
  { networks, onRefused, headerTimeoutMs = HEADER_TIMEOUT_MS }: Balancers,
): void {
  if (networks.length === 0) return;
  const isBalancer = membersOf(networks);
  const serving = server.listeners('connection') as ((socket: Socket) => void)[];
  const serve = (socket: Socket): void => {
    for (const listener of serving) listener.call(server, socket);
  };
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (!isBalancer(remoteAddress)) serve(socket);
    else readHeader(socket, headerTimeoutMs, { serve, refuse: (why) => onRefused(why, remoteAddress) });
  });
}

function membersOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family);
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

interface Outcome {
  readonly serve: (socket: Socket) => void;
  readonly refuse: (why: string) => void;
}

/** A balancer that closes without a word, or with none but that it speaks for itself, only looked whether somebody listens. */
function readHeader(socket: Socket, timeoutMs: number, { serve, refuse }: Outcome): void {
  let read: Buffer = Buffer.alloc(0);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onEnd).off('close', stop).off('error', ignore);
  };
  const end = (why: string | null): void => {
    stop();
    if (why !== null) refuse(why);
    socket.on('error', ignore).destroy();
  };
  const isLook = (): boolean => read.length === 0 || readProxyHeader(read).kind === 'local';
  const onEnd = (): void => end(isLook() ? null : 'the connection ended within the PROXY header');
  const onReadable = (): void => {
    for (let piece = socket.read() as Buffer | null; piece; piece = socket.read() as Buffer | null) {
      read = Buffer.concat([read, piece]);
      const header = readProxyHeader(read);
      if (header.kind === 'refused') return end(header.why);
      if (header.kind === 'incomplete') continue;
      if (header.kind === 'local' && read.length === header.bytes) continue;
      stop();
      if (header.kind === 'client') rememberClient(socket, header.address);
      // Node's TLS takes what was read already, and reads on by itself below JavaScript.
      if (read.length > header.bytes) socket.unshift(read.subarray(header.bytes));
      serve(socket);
      return;
    }
  };
  const late = `no whole PROXY header came within ${timeoutMs / 1_000} s`;
  const timer = setTimeout(() => end(isLook() && read.length > 0 ? null : late), timeoutMs).unref();
  socket.on('readable', onReadable).once('end', onEnd).once('close', stop).on('error', ignore);
}

function ignore(): void {
  // It closes, and nobody was told of it yet.
}
