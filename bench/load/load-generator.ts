import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';
import type { Entrance } from '../systems/system.js';

/** What goes on while pings are measured. */
export interface Beside {
  readonly downloads?: number;
  readonly stalledReaders?: number;
  readonly stalledUploads?: number;
  /** Tried after the pings, while the rest still goes on. */
  readonly newConnections?: number;
}

/** What the load generator does (bench/go/load); counts are of all connections together. */
export interface Job {
  readonly kind:
    | 'download'
    | 'upload'
    | 'ping'
    | 'connect'
    | 'first-byte'
    | 'hold'
    | 'recover'
    | 'banner'
    | 'half-close'
    | 'write-then-close'
    | 'abort-while-busy'
    | 'api-get'
    | 'api-patch'
    | 'api-first'
    | 'api-watch'
    | 'api-exec';
  /** At the same time. */
  readonly connections: number;
  /** Of kinds that ask a Kubernetes API: path and query; of `api-patch` what stands before the number of the connection. */
  readonly path?: string;
  readonly bytes?: number;
  readonly count?: number;
  readonly beside?: Beside;
  /** What is beside goes on for this long at least. */
  readonly holdMs?: number;
  /** Idle connections, or what is beside, go on for this long before anything is measured. */
  readonly settleMs?: number;
  /** Bounds each of many tries. */
  readonly tryMs?: number;
  /** Of kinds that ask a Kubernetes API: it is done in so many slices, of so many milliseconds each, with a stop (`slice`) before each one. */
  readonly slices?: number;
  readonly sliceMs?: number;
  /** Ends what has a count before it is reached; 100 pings are always made. */
  readonly enoughMs?: number;
  /** What is not done by then has failed. */
  readonly timeoutMs: number;
}

const Result = z.object({
  seconds: z.number().nonnegative(),
  bytes: z.number().int().nonnegative(),
  count: z.number().int().nonnegative(),
  p50Us: z.number().nonnegative(),
  p99Us: z.number().nonnegative(),
  besideMBs: z.number().nonnegative(),
  newOk: z.number().int().nonnegative(),
  newOf: z.number().int().nonnegative(),
  /** Requests or connections that went wrong, of how many, and the first reason. */
  failed: z.number().int().nonnegative(),
  of: z.number().int().nonnegative(),
  reason: z.string(),
});
export type LoadResult = z.output<typeof Result>;

const Phase = z.strictObject({ phase: z.string() });

export interface LoadOptions {
  readonly signal: AbortSignal;
  /** Called at a stop of the job; it goes on when this resolves. */
  readonly atPhase?: (phase: string) => Promise<void>;
  /** Runs the load generator elsewhere: what stands before its own command. */
  readonly prefix?: readonly string[];
}

/** What the load generator needs to end by itself after its deadline, before it is killed. */
const GRACE_MS = 5_000;
const MAX_REASON_CHARACTERS = 300;

/**
 * Runs one job in a process of its own, so that no job finds the garbage of the one before. Rejects with BenchError if the
 * load generator itself fails; what goes wrong on the way to the target is in the result.
 */
export async function runLoad(
  program: string,
  entrance: Entrance,
  job: Job,
  options: LoadOptions,
): Promise<LoadResult> {
  const [command, ...args] = prefixed(program, options.prefix);
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: options.signal,
    timeout: job.timeoutMs + GRACE_MS + (job.holdMs ?? 0),
    killSignal: 'SIGKILL',
  });
  // The client's key goes by standard input: arguments are for everybody to read.
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify({ ...job, ...entrance })}\n`);
  const ended = new Promise<void>((resolve, reject) => {
    child.once('close', () => resolve());
    child.once('error', reject);
  });
  const goOn = (): void => void child.stdin.write('\n');
  try {
    const [result, complaint] = await Promise.all([readResult(child.stdout, options, goOn), text(child.stderr), ended]);
    if (result) return { ...result, reason: result.reason.slice(0, MAX_REASON_CHARACTERS) };
    throw new BenchError(`the load generator failed: ${complaint.trim() || (child.signalCode ?? child.exitCode)}`);
  } catch (error) {
    child.kill('SIGKILL');
    options.signal.throwIfAborted();
    if (error instanceof BenchError) throw error;
    throw new BenchError(`the load generator could not be run: ${messageOf(error)}`, { cause: error });
  }
}

function prefixed(program: string, [first, ...rest]: readonly string[] = []): [string, ...string[]] {
  return first === undefined ? [program] : [first, ...rest, program];
}

async function readResult(
  output: NodeJS.ReadableStream,
  { atPhase }: LoadOptions,
  goOn: () => void,
): Promise<LoadResult | undefined> {
  let result: LoadResult | undefined;
  for await (const line of createInterface({ input: output })) {
    const said: unknown = JSON.parse(line);
    const phase = Phase.safeParse(said);
    if (phase.success) {
      await atPhase?.(phase.data.phase);
      goOn();
    } else result = Result.parse(said);
  }
  return result;
}
