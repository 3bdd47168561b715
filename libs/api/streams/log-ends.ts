import { auditRpc } from '@fairlead/contracts';
import type { Clock } from '@fairlead/clock';
import type { Backend } from '../feature/backend.js';

interface Waiting {
  readonly at: number;
  readonly goOn: () => void;
}

/** Where logs end: of each tenant it is asked for once, for all who wait for something new in it. */
export class LogEnds {
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(
    private readonly backend: Pick<Backend, 'read'>,
    private readonly clock: Clock,
    private readonly lookEveryMs: number,
  ) {}

  /** Resolves when the log has more than `at` entries, or once the signal is aborted. */
  wait(tenantId: string, at: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const known = this.#waiting.get(tenantId);
      const waiting = known ?? new Set<Waiting>();
      const goOn = (): void => {
        signal.removeEventListener('abort', goOn);
        waiting.delete(one);
        resolve();
      };
      const one: Waiting = { at, goOn };
      signal.addEventListener('abort', goOn);
      waiting.add(one);
      if (known) return;
      this.#waiting.set(tenantId, waiting);
      void this.#look(tenantId, waiting);
    });
  }

  async #look(tenantId: string, waiting: Set<Waiting>): Promise<void> {
    while (waiting.size > 0) {
      await this.clock.sleep(this.lookEveryMs);
      const size = await this.#sizeOf(tenantId);
      for (const { at, goOn } of waiting) if (size > at) goOn();
    }
    this.#waiting.delete(tenantId);
  }

  /** Nobody is told of a failure: who waits goes on by itself after a while, and hears why from its own question. */
  async #sizeOf(tenantId: string): Promise<number> {
    try {
      return (await this.backend.read(auditRpc.read, tenantId, {})).size;
    } catch {
      return 0;
    }
  }
}
