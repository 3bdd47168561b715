import { fitPage, type AuditEntry, type AuditFilter, type AuditPage, type AuditProducer } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { readFrom } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { wordsOf } from '../domain/facets.js';
import { listProducers, type ProducerRow } from '../store/producers.js';
import { entryOf, sizeOf } from '../store/search.js';
import { lookDown, lookUp, wasCancelled } from './look-through.js';
import type { Runtime } from './runtime.js';

const MAX_PRODUCERS = 500;
const MAX_GAPS = 20;

interface Asked {
  readonly filter: AuditFilter;
  readonly limit: number;
}

/** Reads a tenant's log. */
export class AuditLog {
  constructor(private readonly runtime: Runtime) {}

  /** Newest first, below `after`. `next` is there if there may be more, where not all could be looked at in time, too. */
  async search(tenantId: string, { filter, limit }: Asked, after: number | undefined): Promise<AuditPage> {
    checkText(filter);
    return this.#read(async (manager) => {
      const size = await sizeOf(manager, tenantId);
      const upTo = Math.min(size, (after ?? size + 1) - 1);
      const { entries: found, through } = await lookDown(
        this.runtime.database,
        { tenantId, filter, limit: limit + 1 },
        upTo,
      );
      const entries = fitPage(found.slice(0, limit));
      const last = entries.at(-1);
      if (last && entries.length < found.length) return { entries, next: last.number };
      return through > 1 ? { entries, next: through } : { entries };
    });
  }

  /** Oldest first, above `after`. */
  async read(
    tenantId: string,
    { filter, limit }: Asked,
    after: number | undefined,
  ): Promise<{ entries: AuditEntry[]; next: number; size: number }> {
    checkText(filter);
    return this.#read(async (manager) => {
      // What has a number up to this one is committed: whoever numbers holds the row.
      const size = await sizeOf(manager, tenantId);
      if (after === undefined) return { entries: [], next: size, size };
      const window = { tenantId, filter, limit: limit + 1 };
      const { entries: found, through } = await lookUp(this.runtime.database, window, { after, upTo: size });
      const entries = fitPage(found.slice(0, limit));
      const isWhole = entries.length === found.length;
      return { entries, next: isWhole ? Math.max(after, through) : (entries.at(-1)?.number ?? after), size };
    });
  }

  async get(tenantId: string, number: number): Promise<AuditEntry> {
    return this.#read(async (manager) => {
      const entry = await entryOf(manager, tenantId, number);
      if (entry) return entry;
      if (number <= (await sizeOf(manager, tenantId))) {
        throw new FairleadError('GONE', `entry ${number} is older than what is kept`);
      }
      throw new FairleadError('NOT_FOUND', `there is no entry ${number} yet`);
    });
  }

  async producers(): Promise<AuditProducer[]> {
    const rows = await this.#read((manager) => listProducers(manager, MAX_PRODUCERS));
    return fitPage(rows.map(toProducer));
  }

  async #read<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await readFrom(this.runtime.database, work);
    } catch (error) {
      if (!wasCancelled(error)) throw error;
      throw new FairleadError(
        'INVALID_ARGUMENT',
        'there is too much to look through: narrow the time, by from and to',
        {
          cause: error,
        },
      );
    }
  }
}

function checkText({ text }: AuditFilter): void {
  if (text === undefined || wordsOf(text).length > 0) return;
  throw new FairleadError('INVALID_ARGUMENT', 'text: write at least one word, of letters or digits');
}

function toProducer({ firstAt, lastAt, gaps, ...row }: ProducerRow): AuditProducer {
  return {
    ...row,
    firstAt: firstAt.toISOString(),
    lastAt: lastAt.toISOString(),
    gaps: gaps.slice(0, MAX_GAPS).map((gap) => ({ ...gap, foundAt: gap.foundAt.toISOString() })),
    moreGaps: Math.max(0, gaps.length - MAX_GAPS),
  };
}
