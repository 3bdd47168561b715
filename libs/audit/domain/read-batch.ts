import { AuditBatch, AuditRecord, MAX_AUDIT_BATCH } from '@fairlead/contracts';
import { z } from 'zod';

/** A batch whose records are read one by one: one that is of no schema takes none of the others with it. */
const Frame = AuditBatch.pick({ epoch: true, firstSeq: true, ends: true })
  .extend({ records: z.array(z.unknown()).max(MAX_AUDIT_BATCH) })
  .refine(({ records, ends }) => records.length > 0 || ends === true);

export interface ReadBatch {
  readonly epoch: string;
  readonly firstSeq: number;
  /** Null: no schema reads it. */
  readonly records: readonly { readonly record: AuditRecord | null; readonly why: string }[];
  readonly ends: boolean;
}

/** Null: it is no batch. */
export function readBatch(data: Uint8Array): ReadBatch | null {
  const frame = Frame.safeParse(parse(data));
  if (!frame.success) return null;
  const { epoch, firstSeq, records, ends = false } = frame.data;
  return { epoch, firstSeq, records: records.map(readRecord), ends };
}

function readRecord(given: unknown): ReadBatch['records'][number] {
  const read = AuditRecord.safeParse(given);
  if (read.success) return { record: read.data, why: '' };
  // Where it is wrong, and not what stands there.
  const [issue] = read.error.issues;
  return { record: null, why: `${issue?.path.join('.') ?? ''}: ${issue?.code ?? 'unknown'}` };
}

/** Undefined: it is no JSON. */
export function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(data)) as unknown;
  } catch {
    return undefined;
  }
}
