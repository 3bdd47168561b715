import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';
import type { System } from '../systems/system.js';

/** What the load generator does; counts are of all connections together. */
export type Job =
  | { readonly kind: 'download'; readonly connections: number; readonly bytes: number }
  | { readonly kind: 'ping'; readonly connections: 1; readonly count: number }
  | { readonly kind: 'connect'; readonly connections: number; readonly count: number };

const Result = z.object({
  seconds: z.number().nonnegative(),
  bytes: z.number().int().nonnegative(),
  count: z.number().int().nonnegative(),
  p50Us: z.number().nonnegative(),
  p99Us: z.number().nonnegative(),
  /** Requests or connections that went wrong, of how many, and the first reason. */
  failed: z.number().int().nonnegative(),
  of: z.number().int().nonnegative(),
  reason: z.string(),
});
export type LoadResult = z.output<typeof Result>;

export interface LoadOptions {
  /** Pings and connections stop then, however many there were (100 pings are always made). */
  readonly enoughMs: number;
  /** Failures of requests count from then on. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What the load generator needs to end by itself after its deadline, before it is killed. */
const GRACE_MS = 3_000;
const MAX_REASON_CHARACTERS = 300;

/**
 * Runs one job in a process of its own, so that no job finds the garbage of the one before. Rejects with BenchError if the
 * load generator itself fails; what goes wrong on the way to the server is in the result.
 */
export async function runLoad(program: string, system: System, job: Job, options: LoadOptions): Promise<LoadResult> {
  const { target, caPem, authorization } = system;
  const [enoughMs, timeoutMs] = [Math.ceil(options.enoughMs), Math.ceil(options.timeoutMs)];
  const child = spawn(program, [], {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: options.signal,
    timeout: timeoutMs + GRACE_MS,
    killSignal: 'SIGKILL',
  });
  // The authorization goes by standard input: arguments are for everybody to read.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify({ ...job, target, caPem, authorization, enoughMs, timeoutMs }));
  const ended = new Promise<void>((resolve, reject) => {
    child.once('close', () => resolve());
    child.once('error', reject);
  });
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr), ended]).catch(
    (error: unknown) => {
      options.signal.throwIfAborted();
      throw new BenchError(`the load generator could not be run: ${messageOf(error)}`, { cause: error });
    },
  );
  if (child.exitCode !== 0) {
    throw new BenchError(`the load generator failed: ${complaint.trim() || (child.signalCode ?? child.exitCode)}`);
  }
  const result = Result.parse(JSON.parse(said));
  return { ...result, reason: result.reason.slice(0, MAX_REASON_CHARACTERS) };
}
