import { messageOf } from '@fairlead/errors';
import { StackError } from '../errors.js';
import { describeExit, type StackLog } from '../events.js';
import { SupervisedProcess, type StackProcess } from './supervised-process.js';
import type { Unit } from './unit.js';

/** Stopped in this order: whoever uses something goes before it. */
const TIERS = ['edge', 'service', 'infrastructure'] as const;
export type Tier = (typeof TIERS)[number];

interface ProcessGroupOptions {
  readonly log: StackLog;
  /** Whether a process that dies after the boot is started again. */
  readonly supervise: boolean;
  /** Ends the boot, and everything with it. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * All processes of a stack. Until `settle` the death of any one is a failure of the boot: `signal` aborts with it as the
 * reason. After that each is supervised for itself.
 */
export class ProcessGroup {
  readonly #members: { readonly process: SupervisedProcess; readonly tier: Tier }[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  readonly #boot = new AbortController();
  #phase: 'booting' | 'settled' | 'stopping' = 'booting';

  constructor(private readonly options: ProcessGroupOptions) {
    const { signal } = options;
    const onAbort = (): void => this.fail(signal?.reason);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  }

  /** Aborted when the boot has failed or was given up. */
  get signal(): AbortSignal {
    return this.#boot.signal;
  }

  get processes(): readonly StackProcess[] {
    return this.#members.map(({ process }) => process);
  }

  /** Starts a process and waits until it is ready. Throws StackError, with the last lines of its log, if it does not get there. */
  async start(unit: Unit, tier: Tier): Promise<StackProcess> {
    this.signal.throwIfAborted();
    const process = new SupervisedProcess(unit, {
      log: this.options.log,
      supervise: this.#phase === 'settled' && this.options.supervise,
      onDeath: (dead, exit) => {
        const message = `${dead.name} ended (${describeExit(exit)}); its log is ${dead.logPath}`;
        if (this.#phase === 'booting') this.fail(new StackError(message, { tail: dead.tail() }));
      },
    });
    const started = process.start(this.signal).catch((error: unknown) => {
      throw this.#explain(unit, error);
    });
    this.#starting.add(started);
    try {
      await started;
      this.#members.push({ process, tier });
      return process;
    } finally {
      this.#starting.delete(started);
    }
  }

  /** The boot is over: from now on a death concerns only the one who died. */
  settle(): void {
    this.signal.throwIfAborted();
    this.#phase = 'settled';
    for (const { process } of this.#members) process.supervise = this.options.supervise;
  }

  fail(reason: unknown): void {
    if (this.#phase !== 'stopping') this.#boot.abort(reason);
  }

  /** Stops all, tier by tier; waits for starts under way. Safe to call more than once. */
  async stop(): Promise<void> {
    this.#boot.abort(new StackError('the stack is being stopped'));
    this.#phase = 'stopping';
    for (const { process } of this.#members) process.retire();
    await Promise.allSettled(this.#starting);
    for (const tier of TIERS) {
      const members = this.#members.filter((member) => member.tier === tier);
      await Promise.all(members.map(({ process }) => process.stop()));
    }
  }

  #explain(unit: Unit, error: unknown): unknown {
    if (this.signal.aborted || error instanceof StackError) return error;
    const message = `${unit.name} could not be started: ${messageOf(error)}`;
    // What already explains itself at length brings the last lines along, or never wrote any.
    return new StackError(message, { cause: error, tail: message.includes('\n') ? [] : unit.tail() });
  }
}
