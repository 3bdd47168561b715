import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestbedError } from '../errors.js';
import type { Log } from '../log.js';

/** Linux names it by this alone, in no folder, and frees it with the process that has it: unix(7), abstract sockets. */
const NAME = 'fairlead-real-node';
const LOOK_EVERY_MS = 500;
/** Longer than any test keeps a node. */
export const LONGEST_NODE_MS = 1_200_000;

export interface OneNodeOptions {
  /** How long another node may go on; default LONGEST_NODE_MS. */
  readonly patienceMs?: number;
  readonly log: Log;
  readonly signal?: AbortSignal | undefined;
  /** Of the socket that stands for it; default that of all real nodes. */
  readonly name?: string;
}

/**
 * Waits until this machine has no other real node, and keeps others waiting until it is disposed of. Nodes know some folders by heart, and each has
 * its own mounted there; who removes such a folder takes the mounts of all others with it, and nothing can be run in their containers any
 * more. Throws TestbedError if the other one outlasts the patience.
 */
export async function becomeTheOneNode(options: OneNodeOptions): Promise<Disposable> {
  const { patienceMs = LONGEST_NODE_MS, log, signal, name = NAME } = options;
  const deadline = Date.now() + patienceMs;
  let told = false;
  for (;;) {
    const held = await tryToHold(name);
    if (held) return held;
    if (Date.now() > deadline) {
      throw new TestbedError(`another real node still runs on this machine after ${patienceMs / 1_000} s`);
    }
    if (!told) log('testbed: another real node runs on this machine: waiting until it is gone');
    told = true;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

async function tryToHold(name: string): Promise<Disposable | null> {
  const server = createServer((socket) => socket.destroy());
  server.listen(`\0${name}`);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
  server.unref();
  return { [Symbol.dispose]: () => void server.close() };
}
