import { AuditBatch, auditSubject, isPassage, type AuditRecord, type AuditedPassage } from '@fairlead/contracts';
import { AUDIT_STREAM } from '@fairlead/messaging';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

/**
 * What the audit stream holds of a replica, by number. Throws where a number is missing, or stands for two records: what comes twice, as after a lost
 * acknowledgement, is the same.
 */
export async function auditStream(reader: NatsConnection, credential: string): Promise<AuditRecord[]> {
  const { streams } = await jetstreamManager(reader);
  const { first_seq: first, last_seq: last } = (await streams.info(AUDIT_STREAM)).state;
  const found = new Map<number, string>();
  const epochs = new Set<string>();
  for (let seq = first; seq <= last; seq += 1) {
    const message = await streams.getMessage(AUDIT_STREAM, { seq });
    if (message?.subject !== auditSubject(credential)) continue;
    const { epoch, firstSeq, records } = AuditBatch.parse(message.json());
    epochs.add(epoch);
    for (const [at, record] of records.entries()) {
      const json = JSON.stringify(record);
      const before = found.get(firstSeq + at);
      if (before !== undefined && before !== json) throw new Error(`the number ${firstSeq + at} has two records`);
      found.set(firstSeq + at, json);
    }
  }
  if (epochs.size > 1) throw new Error('there is more than one epoch');
  return [...found.keys()]
    .toSorted((one, other) => one - other)
    .map((seq, at) => {
      if (seq !== at + 1) throw new Error(`the number ${at + 1} is missing`);
      return JSON.parse(found.get(seq) ?? '') as AuditRecord;
    });
}

/** Of these, those that tell of a passage. */
export function passagesIn(records: readonly AuditRecord[]): AuditedPassage[] {
  return records.filter(isPassage);
}
