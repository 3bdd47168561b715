import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { connectThrough, type DoorClient } from './connect-door.js';
import { payload, payloadHash } from './payload.js';
import { groupOf, paced, sendAll, type Gate, type TcpTarget, type Verb } from './tcp-target.js';

/** Everything needed to reach a target in a cluster. */
export interface Way {
  readonly connectUrl: string;
  readonly client: DoorClient;
  readonly cluster: string;
  readonly target: TcpTarget;
}

/** The door answered, and not with 200. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly reason: string | undefined,
  ) {
    super(`the door answered ${status} ${reason ?? ''}`);
  }
}

/** A connection to the target. Rejects with Refused, or with what broke the connection; the first try counts. */
export async function dial({ connectUrl, client, target, cluster }: Way): Promise<TLSSocket> {
  const { status, reason, socket } = await connectThrough(connectUrl, client, target.address, cluster);
  // What breaks it off shows in what arrives.
  socket.on('error', () => undefined);
  if (status === 200) return socket;
  socket.destroy();
  throw new Refused(status, reason);
}

/** `whole`: every byte arrived, in order, and the end. `told`: broken off with an error. `cut`: an end that came too early. */
export type Outcome = 'whole' | 'told' | 'cut' | 'wrong';

interface Read {
  readonly bytes: number;
  readonly sha256: string;
  /** False: broken off. */
  readonly ended: boolean;
}

/** Asks for a payload and reads it to the end, with a pause after each read if it is to be slow. Never rejects. */
export async function fetchPayload(
  socket: TLSSocket,
  verb: Extract<Verb, 'answer' | 'send' | 'send-paced'>,
  name: string,
  bytes: number,
  options: { readonly pauseMs?: number; readonly onBytes?: (bytes: number) => void } = {},
): Promise<Outcome> {
  const ask = `${verb} ${name} ${bytes}\n`;
  // With `answer` the target waits for our end: what follows then travels the half that is left.
  if (verb === 'answer') socket.end(ask);
  else socket.write(ask);
  const read = await readToEnd(socket, options.pauseMs ?? 0, options.onBytes);
  socket.destroy();
  return judge(read, name, bytes);
}

/** Sends a payload, then ends, and compares what the target says it got. Never rejects. */
export async function deliverPayload(
  socket: TLSSocket,
  verb: Extract<Verb, 'receive' | 'receive-slowly'>,
  name: string,
  bytes: number,
  held?: Gate,
): Promise<Outcome> {
  const answer = collect(socket);
  try {
    socket.write(`${verb} ${name} ${bytes}\n`);
    await sendAll(socket, held ? paced(name, bytes, held) : payload(name, bytes));
    socket.end();
  } catch {
    // It broke off: what the answer shows, too.
  }
  const text = await answer;
  socket.destroy();
  if (text === null) return 'told';
  if (!text.endsWith('\n')) return 'cut';
  return text === `${payloadHash(name, bytes)} ${bytes}\n` ? 'whole' : 'wrong';
}

/** Sends and takes a payload at the same time; both hashes are compared. Never rejects. */
export async function exchangePayloads(socket: TLSSocket, name: string, bytes: number): Promise<Outcome> {
  const sending = (async () => {
    socket.write(`both ${name} ${bytes}\n`);
    await sendAll(socket, payload(name, bytes));
    socket.end();
  })().catch(() => undefined);
  const hash = createHash('sha256');
  let left = bytes;
  let trailer = '';
  const ended = await readChunks(socket, 0, (chunk) => {
    hash.update(chunk.subarray(0, left));
    trailer += chunk.subarray(Math.min(left, chunk.length)).toString('latin1');
    left -= Math.min(left, chunk.length);
  });
  await sending;
  socket.destroy();
  if (!ended) return 'told';
  const expected = payloadHash(name, bytes);
  if (left > 0 || !trailer.endsWith('\n')) return 'cut';
  return hash.digest('hex') === expected && trailer === `${expected} ${bytes}\n` ? 'whole' : 'wrong';
}

/** One short request: connect, 64 bytes there and back, close. Rejects if anything of it fails. */
export async function ping(way: Way): Promise<void> {
  const socket = await dial(way);
  try {
    socket.write('echo ping 0\n');
    await roundTrip(socket);
  } finally {
    socket.destroy();
  }
}

const PING = Buffer.alloc(64, 'p');
const PING_TIMEOUT_MS = 20_000;

/** 64 bytes to an echoing target and back; resolves with the milliseconds it took. Rejects when it breaks off or takes 20 s. */
export async function roundTrip(socket: TLSSocket): Promise<number> {
  const startedMs = performance.now();
  socket.write(PING);
  for (let left = PING.length; left > 0;) {
    const chunk = socket.read(Math.min(left, Math.max(1, socket.readableLength))) as Buffer | null;
    if (chunk) left -= chunk.length;
    else if (socket.destroyed || socket.readableEnded) throw new Error('the connection broke off');
    else await somethingHappens(socket, PING_TIMEOUT_MS - (performance.now() - startedMs));
  }
  return performance.now() - startedMs;
}

/** Something to read, or the end; leaves no listener behind. */
function somethingHappens(socket: TLSSocket, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      socket.off('readable', onEvent).off('end', onEvent).off('close', onEvent);
      act();
    };
    const onEvent = (): void => settle(resolve);
    const timer = setTimeout(() => settle(() => reject(new Error('the answer to a ping is late'))), timeoutMs);
    socket.once('readable', onEvent).once('end', onEvent).once('close', onEvent);
  });
}

/** The name of a transfer within a group, whose gate it obeys. */
export function nameIn(group: string, index: number): string {
  return `${groupOf(group)}/${index}`;
}

async function readToEnd(socket: TLSSocket, pauseMs: number, onBytes?: (bytes: number) => void): Promise<Read> {
  const hash = createHash('sha256');
  let bytes = 0;
  const ended = await readChunks(socket, pauseMs, (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
    onBytes?.(bytes);
  });
  return { bytes, sha256: hash.digest('hex'), ended };
}

function judge({ bytes, sha256, ended }: Read, name: string, wanted: number): Outcome {
  if (!ended) return 'told';
  if (bytes < wanted) return 'cut';
  return bytes === wanted && sha256 === payloadHash(name, wanted) ? 'whole' : 'wrong';
}

/** Resolves with true at the end of the stream, with false when it broke off. */
async function readChunks(socket: TLSSocket, pauseMs: number, take: (chunk: Buffer) => void): Promise<boolean> {
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      take(chunk);
      if (pauseMs > 0) await sleep(pauseMs);
    }
    return true;
  } catch {
    return false;
  }
}

/** What comes until the end, as text; null when it broke off. */
async function collect(socket: TLSSocket): Promise<string | null> {
  let text = '';
  const ended = await readChunks(socket, 0, (chunk) => (text += chunk.toString('latin1')));
  return ended ? text : null;
}
