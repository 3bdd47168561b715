import type { LostPassages } from '@fairlead/contracts';
import type { AuditSpool } from '../audit-spool.js';

/** A record that is told apart by its number, and is as long as is asked. */
export function numbered(id: number, bytes = 0): LostPassages {
  const own = { tenantId: 'default', what: 'records', user: '' } as const;
  return { phase: 'lost', at: '2026-01-01T00:00:00.000Z', count: id, why: 'x'.repeat(bytes), ...own };
}

/** All that is durable and not acknowledged, with its numbers. */
export async function contents(spool: AuditSpool): Promise<ReadonlyMap<number, LostPassages>> {
  const found = new Map<number, LostPassages>();
  for (let after = spool.acknowledged; ;) {
    const { firstSeq, records } = await spool.read(after, { records: 200, bytes: 512 * 1024 });
    if (records.length === 0) return found;
    for (const [at, json] of records.entries()) found.set(firstSeq + at, JSON.parse(json.toString()) as LostPassages);
    after = firstSeq + records.length - 1;
  }
}
