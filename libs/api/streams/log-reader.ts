import { auditRpc, type AuditEntry, type AuditFilter } from '@fairlead/contracts';
import { fullJitterMs, type Clock } from '@fairlead/clock';
import { FairleadError } from '@fairlead/errors';
import type { Backend } from '../feature/backend.js';

const PAGE_ENTRIES = 200;
const ATTEMPTS = 3;
const PAUSE = { baseMs: 500, capMs: 4_000 };

export interface LogPage {
  readonly entries: readonly AuditEntry[];
  /** Where to go on. */
  readonly next: number;
  /** The log's newest number. */
  readonly size: number;
}

/** Reads what a filter leaves of a tenant's log, page by page: each has a deadline, and is asked for when it is wanted. */
export class LogReader {
  constructor(
    private readonly backend: Backend,
    private readonly clock: Clock,
    private readonly tenantId: string,
    private readonly filter: AuditFilter,
  ) {}

  /** Where the log ends now. */
  async end(): Promise<number> {
    return (await this.#read({})).size;
  }

  /** What is behind a number, oldest first, as much as fits. Tried again while the audit service is away for a moment. */
  async page(after: number, signal: AbortSignal): Promise<LogPage> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#read({ ...this.filter, after, limit: PAGE_ENTRIES });
      } catch (error) {
        const mayPass = error instanceof FairleadError && error.kind.retryable;
        if (!mayPass || attempt >= ATTEMPTS) throw error;
        await this.clock.sleep(fullJitterMs(attempt, PAUSE), signal);
      }
    }
  }

  #read(input: AuditFilter & { readonly after?: number; readonly limit?: number }): Promise<LogPage> {
    return this.backend.read(auditRpc.read, this.tenantId, input);
  }
}
