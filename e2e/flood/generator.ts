import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { EXIT_WITH_PARENT, REPOSITORY } from '@fairlead/stack';
import type { Port } from './kinds.js';

/** What a flood is to do. */
export interface FloodOrder {
  readonly of: Port;
  readonly kind: string;
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** After `seconds` it goes on until so many connections were closed or refused, or for `mostSeconds` in all. */
  readonly untilClosed: number;
  readonly mostSeconds: number;
  /** Of one core, 0 to 1: as much as its process takes. */
  readonly share: number;
}

/** How a flood went, as its process saw it. */
export interface FloodReport {
  /** Connections that shook hands. Each one that was closed is dialled again. */
  opened: number;
  /** Of these, closed by the other end. */
  closed: number;
  /** Connections that were closed before their handshake was over. */
  refused: number;
  /** Frames, or what else is repeated. */
  steps: number;
  bytes: number;
  cpuSeconds: number;
}

/** Run compiled, in a process of its own: what it takes of the machine is not the time of whoever measures. */
const MAIN = join(REPOSITORY, 'e2e', 'dist', 'flood', 'generator-main.js');

/** Floods until its time is over. Rejects if its process fails. */
export async function flood(order: FloodOrder): Promise<FloodReport> {
  const child = spawn(process.execPath, ['--import', EXIT_WITH_PARENT, MAIN, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const said = await text(child.stdout as Readable);
  const code = await exited;
  if (code !== 0) throw new Error(`the flood of ${order.kind} ended with ${code}`);
  return JSON.parse(said) as FloodReport;
}
