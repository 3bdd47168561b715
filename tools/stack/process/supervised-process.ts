import { fullJitterMs, systemClock, type Clock } from '@fairlead/clock';
import { StackError } from '../errors.js';
import { describeExit, type Exit, type StackLog } from '../events.js';
import type { Run, Unit } from './unit.js';

/** A process of the stack, as tests and people handle it. */
export interface StackProcess {
  readonly name: string;
  /** Undefined while it does not run, or when it is not ours. */
  readonly pid: number | undefined;
  readonly logPath: string;
  /** Whether it is started again when it dies. May be changed at any time. */
  supervise: boolean;
  /** Resolves when the present life ends. */
  readonly exited: Promise<Exit>;
  kill(signal: NodeJS.Signals): void;
  /** Ends what runs, if anything does, and starts again; resolves when ready. */
  restart(): Promise<void>;
  /** Ends it for good (until `restart`). */
  stop(): Promise<void>;
  /** The last lines it wrote. */
  tail(): readonly string[];
}

interface SupervisionOptions {
  readonly log: StackLog;
  readonly supervise: boolean;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Called at each death that nobody asked for. */
  readonly onDeath?: (process: StackProcess, exit: Exit) => void;
}

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'running'; readonly run: Run; readonly sinceMs: number }
  /** `done` never rejects. */
  | { readonly kind: 'starting'; readonly abort: AbortController; readonly done: Promise<void> };

const BACKOFF = { baseMs: 500, capMs: 30_000 };
/** A life this long proves that the start worked: the next backoff begins anew. */
const STABLE_MS = 60_000;

export class SupervisedProcess implements StackProcess {
  supervise: boolean;
  readonly #clock: Clock;
  #state: State = { kind: 'stopped' };
  #failures = 0;
  #retired = false;
  #exited: Promise<Exit> = new Promise(() => {});

  constructor(
    private readonly unit: Unit,
    private readonly options: SupervisionOptions,
  ) {
    this.#clock = options.clock ?? systemClock;
    this.supervise = options.supervise;
  }

  get name(): string {
    return this.unit.name;
  }

  get logPath(): string {
    return this.unit.logPath;
  }

  get pid(): number | undefined {
    return this.#state.kind === 'running' ? this.#state.run.pid : undefined;
  }

  get exited(): Promise<Exit> {
    return this.#exited;
  }

  tail(): readonly string[] {
    return this.unit.tail();
  }

  /** Throws StackError if it does not become ready; nothing is tried again then. */
  async start(signal: AbortSignal): Promise<void> {
    const run = await this.unit.start(signal);
    if (signal.aborted) {
      await run.stop();
      signal.throwIfAborted();
    }
    this.#state = { kind: 'running', run, sinceMs: this.#clock.monotonicMs() };
    this.#exited = run.exited;
    this.options.log({ kind: 'running', process: this.name, pid: run.pid });
    void run.exited.then((exit) => this.#ended(run, exit));
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#state.kind !== 'running') throw new StackError(`${this.name} does not run`);
    this.#state.run.kill(signal);
  }

  async restart(): Promise<void> {
    await this.stop();
    const abort = new AbortController();
    const started = this.start(abort.signal);
    this.#state = { kind: 'starting', abort, done: started.catch(() => this.#giveUp(abort)) };
    await started;
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'stopped' };
    if (state.kind === 'running') await state.run.stop();
    if (state.kind !== 'starting') return;
    state.abort.abort(new StackError(`${this.name} is being stopped`));
    await state.done;
  }

  #giveUp(abort: AbortController): void {
    if (this.#state.kind === 'starting' && this.#state.abort === abort) this.#state = { kind: 'stopped' };
  }

  /** From now on its end is no news: the terminal's Ctrl-C may have reached it before our own stop does. */
  retire(): void {
    this.#retired = true;
    this.supervise = false;
  }

  #ended(run: Run, exit: Exit): void {
    const state = this.#state;
    if (this.#retired || state.kind !== 'running' || state.run !== run) return;
    if (this.#clock.monotonicMs() - state.sinceMs >= STABLE_MS) this.#failures = 0;
    this.#state = { kind: 'stopped' };
    this.options.log({ kind: 'died', process: this.name, how: describeExit(exit), tail: this.tail() });
    this.options.onDeath?.(this, exit);
    if (!this.supervise) return;
    const abort = new AbortController();
    this.#state = { kind: 'starting', abort, done: this.#revive(abort.signal) };
  }

  /** Tries until it runs again or is told to stop; never rejects. */
  async #revive(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const delayMs = fullJitterMs(this.#failures, BACKOFF, this.options.random);
      this.#failures += 1;
      this.options.log({ kind: 'restarting', process: this.name, delayMs });
      try {
        await this.#clock.sleep(delayMs, signal);
        await this.start(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const how = error instanceof Error ? error.message : String(error);
        this.options.log({ kind: 'died', process: this.name, how, tail: this.tail() });
      }
    }
  }
}
