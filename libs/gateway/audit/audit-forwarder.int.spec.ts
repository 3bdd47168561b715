import { AuditSpool } from '@fairlead/audit-spool';
import { AUDIT_STREAM, connectNats } from '@fairlead/messaging';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { silentLogger } from '@fairlead/observability';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AuditForwarder } from './audit-forwarder.js';

const gateway = { role: 'gateway', credential: 'gateway-a' } as const;
const MIB = 1024 ** 2;
const RECORDS = 1_500;

let scratch: ScratchDir;
let nats: SecuredNats;

beforeAll(async () => {
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.path);
});
afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

async function messagesInStream(): Promise<number> {
  const operator = await nats.connect({ role: 'operator', credential: 'operator' });
  try {
    const { streams } = await jetstreamManager(operator);
    return (await streams.info(AUDIT_STREAM)).state.messages;
  } finally {
    await operator.close();
  }
}

it('hands on all that a replica still has when it stops, however long its records are', async () => {
  const signal = AbortSignal.timeout(60_000);
  const at = { url: nats.server.info.url, seedFile: nats.seedFile(gateway), logger: silentLogger, signal };
  const nc = await connectNats({ ...gateway, ...at });
  await using spool = await AuditSpool.open({ dir: scratch.file('spool'), maxBytes: 64 * MIB, logger: silentLogger });
  const batches: number[] = [];
  const onForwarded = (records: number): void => void batches.push(records);
  const { credential } = gateway;
  const forwarder = new AuditForwarder({ nc, spool, credential, logger: silentLogger, onForwarded });
  // A batch is full by its bytes long before it has as many records as it may.
  const record = { phase: 'lost', at: '2026-01-01T00:00:00.000Z', why: 'x'.repeat(4_000) } as const;
  const own = { tenantId: 'default', what: 'records', user: '' } as const;
  for (let count = 1; count <= RECORDS; count += 1) spool.append({ ...record, ...own, count });
  await forwarder[Symbol.asyncDispose]();
  expect(spool.isDone).toBe(true);
  await nc.close();
  expect(Math.max(...batches)).toBeLessThan(200);
  expect(batches.reduce((sum, records) => sum + records)).toBe(RECORDS);
  // And that this was all.
  expect(await messagesInStream()).toBe(batches.length + 1);
});
