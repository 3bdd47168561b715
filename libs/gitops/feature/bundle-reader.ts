import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { BundleLimits, type Tool } from '@fairlead/desired-state';
import { FairleadError, fromWire, messageOf } from '@fairlead/errors';
import type { BundleContents } from '../domain/inspect-bundle.js';
import { BUNDLE_WORKER, type BundleAnswer, type BundleWork } from './bundle-worker.js';

/** What reading one bundle may take. */
export interface ReaderLimits {
  /** Of the heap of the thread that reads. */
  readonly memoryMb: number;
  readonly timeMs: number;
  /** For its turn: longer than one bundle may take, so that a slow one alone turns nobody away. */
  readonly waitMs: number;
  readonly waiting: number;
  readonly waitingOfTenant: number;
}

/** The worst that the bounds of a manifest let pass took between 96 and 192 MB, and 3 s of a core. */
export const READER_LIMITS: ReaderLimits = {
  memoryMb: 192,
  timeMs: 12_000,
  waitMs: 14_000,
  waiting: 8,
  waitingOfTenant: 3,
};

type ReadBundle = (tool: Tool, yaml: Uint8Array) => Promise<BundleContents>;

interface Waiter {
  readonly tenantId: string;
  readonly begin: () => void;
}

/**
 * Reads bundles in a thread of their own, one at a time: what is uploaded may take seconds and a hundred megabytes to read, for which this
 * process goes on answering. A thread that takes more is ended, and the bundle refused.
 */
export class BundleReader {
  #waiting: Waiter[] = [];
  /** Whose bundle is being read. */
  #reading: string | null = null;

  constructor(private readonly limits: ReaderLimits = READER_LIMITS) {}

  /**
   * As `inspectBundle`; TOO_LARGE, too, for what takes more time or memory than there is. RATE_LIMITED where too many wait, or those
   * before it take too long. Another tenant's comes before the next one of the same.
   */
  async read(tenantId: string, tool: Tool, yaml: Uint8Array): Promise<BundleContents> {
    return this.inTurn(tenantId, (readIt) => readIt(tool, yaml));
  }

  /** The same for what is first to be had from somewhere, and worked on: nothing of it is to be held before it has its turn. */
  async inTurn<T>(tenantId: string, work: (read: ReadBundle) => Promise<T>): Promise<T> {
    await this.#turn(tenantId);
    try {
      return await work((tool, yaml) => readIn(tool, yaml, this.limits));
    } finally {
      this.#next(tenantId);
    }
  }

  #turn(tenantId: string): Promise<void> {
    if (this.#reading === null) {
      this.#reading = tenantId;
      return Promise.resolve();
    }
    const ofTenant = this.#waiting.filter((waiter) => waiter.tenantId === tenantId).length;
    if (this.#waiting.length >= this.limits.waiting || ofTenant >= this.limits.waitingOfTenant) {
      return Promise.reject(busy('many bundles wait to be read'));
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        tenantId,
        begin: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter);
        reject(busy('other bundles are being read'));
      }, this.limits.waitMs);
      this.#waiting.push(waiter);
    });
  }

  #next(before: string): void {
    const next = this.#waiting.find(({ tenantId }) => tenantId !== before) ?? this.#waiting[0];
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#reading = next?.tenantId ?? null;
    next?.begin();
  }
}

async function readIn(tool: Tool, yaml: Uint8Array, { memoryMb, timeMs }: ReaderLimits): Promise<BundleContents> {
  if (yaml.length > BundleLimits.maxBytes) throw tooMuch(`it has more than ${BundleLimits.maxBytes} bytes`);
  // A copy of its own, which is handed over: the caller still needs what it has.
  const work: BundleWork = { for: BUNDLE_WORKER, tool, yaml: Uint8Array.from(yaml) };
  const worker = new Worker(pathToFileURL(createRequire(import.meta.url).resolve(BUNDLE_WORKER)), {
    workerData: work,
    transferList: [work.yaml.buffer as ArrayBuffer],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: 16 },
    // Nothing of this process' secrets, and none of its flags.
    env: {},
    execArgv: [],
  });
  // Whoever stops does not wait for it.
  worker.unref();
  const { promise, resolve, reject } = Promise.withResolvers<BundleAnswer>();
  worker.once('message', resolve);
  worker.once('error', (error) => reject(deathOf(error, memoryMb)));
  worker.once('exit', () => reject(new FairleadError('INTERNAL', 'the thread that reads bundles ended')));
  const timer = setTimeout(() => reject(tooMuch(`it takes more than ${timeMs / 1_000} s to read`)), timeMs);
  try {
    const answer = await promise;
    if ('refused' in answer) throw fromWire(answer.refused);
    return answer.contents;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

function deathOf(error: unknown, memoryMb: number): FairleadError {
  const outOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  if (outOfMemory) return tooMuch(`it takes more than ${memoryMb} MB of memory to read`);
  return new FairleadError('INTERNAL', `the bundle could not be read: ${messageOf(error)}`, { cause: error });
}

function tooMuch(why: string): FairleadError {
  return new FairleadError('TOO_LARGE', `the bundle is refused: ${why}`);
}

function busy(why: string): FairleadError {
  return new FairleadError('RATE_LIMITED', `${why}; try again in a few seconds`);
}
