import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { auditLogRpc } from '@fairlead/contracts';
import { generateKeyPairSync } from 'node:crypto';
import { backUpLog, restoreLog } from '@fairlead/audit/testing';
import { eventually as poll } from '@fairlead/testing';
import {
  countingPolicy,
  parseVerifierKey,
  verifierKey,
  verifyLog,
  verifyPolicy,
  type NoteVerifier,
} from '@fairlead/transparency-log';
import { startTestWitness, type TestWitness } from '@fairlead/transparency-log/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RunningLog } from './testing/running-log.js';

// Starting five processes on a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
const eventually = <T>(attempt: () => Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 60_000 });

const parts = new AsyncDisposableStack();
let log: RunningLog;
let witnesses: TestWitness[];

beforeAll(async () => {
  const logs = new Map<string, readonly NoteVerifier[]>();
  witnesses = [
    parts.use(await startTestWitness({ name: 'witness.test/w1', logs })),
    parts.use(await startTestWitness({ name: 'witness.test/w2', logs })),
  ];
  log = parts.use(await RunningLog.start(logs, [...witnesses, await nowhere()]));
});
afterAll(() => parts.disposeAsync());

/** A witness that nobody answers for. */
async function nowhere() {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  const key = verifierKey('witness.test/away', 'cosignature', generateKeyPairSync('ed25519').privateKey);
  return { url: new URL(`http://127.0.0.1:${port}/`), key: parseVerifierKey(key), verifierKey: key };
}

const keys = (): string[] => witnesses.map((witness) => witness.verifierKey);
const saidOf = async (tenantId: string) =>
  (await log.witnesses(tenantId)).witnesses.map(({ name, state, size }) => [name, state, size]);

describe('witnesses', () => {
  it('cosign what keys signed, each once it knows the log; one that is away keeps nobody from it', async () => {
    const first = await log.grow(5, 'default');
    await eventually(async () => {
      const said = (await log.witnesses('default')).witnesses.map(({ state, why }) => [state, why]);
      const unknown = ['refused', expect.stringContaining('does not know a log of this origin')];
      expect(said).toEqual([unknown, unknown, ['away', expect.stringContaining('could not be asked')]]);
    });
    log.introduce(first);
    const { size } = await log.grow(300, 'default');
    const cosigned = await eventually(async () => {
      const newest = (await log.witnesses('default')).checkpoints.find((each) => each.size >= size);
      expect(verifyPolicy(Buffer.from(newest?.checkpoint ?? ''), countingPolicy(keys(), 2)).reached).toBe(true);
      return newest!;
    });
    // Events are told in this log, too: it may have grown meanwhile.
    for (const { latest } of witnesses) expect(latest.get(first.origin)?.size).toBeGreaterThanOrEqual(cosigned.size);
    expect((await saidOf('default'))[2]).toEqual(['witness.test/away', 'away', 0]);
  });

  it('of which one was away catch up, with a proof from where they are', async () => {
    const { origin } = (await log.signed('default'))!;
    const known = log.knownLogs.get(origin)!;
    log.knownLogs.delete(origin);
    await log.grow(3, 'default');
    await eventually(async () => expect((await saidOf('default'))[0]).toContain('refused'));
    log.knownLogs.set(origin, known);
    const { size } = await log.grow(3, 'default');
    await eventually(async () => {
      for (const { latest } of witnesses) expect(latest.get(origin)?.size).toBeGreaterThanOrEqual(size);
    });
  });
});

describe('a log that was rewritten by SQL, with all tiles', () => {
  it('is cosigned by no witness, even where the key of the log signs it, and no quorum is reached for it', async () => {
    const tenantId = 'shop';
    const honest = await log.grow(20, tenantId);
    log.introduce(honest);
    const before = await eventually(async () => {
      const newest = (await log.witnesses(tenantId)).checkpoints.find(({ size }) => size >= honest.size);
      expect(verifyPolicy(Buffer.from(newest?.checkpoint ?? ''), countingPolicy(keys(), 2)).reached).toBe(true);
      return newest!;
    });
    // Whoever does this has the machine of `keys`, too.
    await rm(join(log.checkpointsDir, tenantId), { recursive: true });
    await log.rewrite(tenantId);
    const forged = await log.grow(5, tenantId);
    expect(forged.origin).toBe(honest.origin);
    await eventually(async () => {
      const { witnesses: said } = await log.witnesses(tenantId);
      expect(said.slice(0, 2).map(({ state }) => state)).toEqual(['refused', 'refused']);
      expect(said[0]?.why).toContain('rewritten, or is a fork');
    });
    const { checkpoints } = await log.witnesses(tenantId);
    for (const { size, checkpoint } of checkpoints.filter((each) => each.size > before.size))
      expect([size, verifyPolicy(Buffer.from(checkpoint), countingPolicy(keys(), 1)).reached]).toEqual([size, false]);
    expect(verifyPolicy(Buffer.from(forged.note), countingPolicy(keys(), 1)).reached).toBe(false);
    // The rewritten log fits together. What the witnesses cosigned before shows that it is another one.
    const tree = { size: forged.size, root: Buffer.from(forged.root, 'base64') };
    expect(await verifyLog(log.tiles(tenantId), [tree])).toEqual({ ok: true, size: forged.size });
    const cosigned = { size: honest.size, root: Buffer.from(honest.root, 'base64') };
    expect(await verifyLog(log.tiles(tenantId), [cosigned, tree])).toMatchObject({ ok: false, kind: 'rewritten' });
  });
});

describe('a log of which the database was restored to an older point', () => {
  const tenantId = 'bank';
  const treeOf = ({ size, root }: { size: number; root: string }) => ({ size, root: Buffer.from(root, 'base64') });

  it('gets no checkpoint, and begins anew under another origin that links what was signed', async () => {
    const kept = await log.grow(300, tenantId);
    log.introduce(kept);
    await log.as('audit', (query) => backUpLog(query, tenantId));
    const last = await log.grow(7, tenantId);
    // As a Postgres that is restored as a whole: `keys` has forgotten with it.
    await log.as('audit', (query) => restoreLog(query, tenantId));
    await log.as('keys', (query) =>
      query('update audit_logs set size = $2, root = $3, note = $4 where tenant_id = $1', [
        tenantId,
        kept.size,
        kept.root,
        kept.note,
      ]),
    );
    await log.publish(3, tenantId);
    await eventually(async () => {
      expect(await log.size(tenantId)).toBe(kept.size + 3);
      expect(log.services.started.get('audit')?.output()).toContain('307 records of it were signed');
    });
    expect(await log.signed(tenantId)).toEqual(last);
    const ask = (force = false) => log.asApi.call(auditLogRpc.beginAnew, tenantId, { by: 'dana', force });
    const { tree, previous } = await ask();
    expect(previous).toEqual({ origin: last.origin, size: last.size });
    expect(tree.origin).toBe(`${last.origin}/2`);
    const [link] = await log.found(tenantId, 'begun-anew');
    const said = { origin: last.origin, size: last.size, verifierKey: last.verifierKey, checkpoint: last.note };
    expect(link).toMatchObject({ number: kept.size + 4, user: 'dana' });
    const left = { kept: kept.size + 3, signed: expect.any(Number) as number };
    expect(link?.body).toEqual({ statement: 'begun-anew', incarnation: 2, ...left, last: said, by: 'dana' });
    // All that is left of what was signed before is in it, and it goes on.
    const grown = await log.grow(260, tenantId);
    expect(grown.origin).toBe(tree.origin);
    const known = [treeOf(kept), treeOf(tree), treeOf(grown)];
    expect(await verifyLog(log.tiles(tenantId), known)).toEqual({ ok: true, size: grown.size });
    await expect(ask()).rejects.toMatchObject({ code: 'CONFLICT' });
    // It is another log for witnesses: one that was told of it cosigns it.
    log.introduce(grown);
    await log.grow(1, tenantId);
    await eventually(async () =>
      expect(witnesses[0]?.latest.get(grown.origin)?.size).toBeGreaterThanOrEqual(grown.size),
    );
    expect((await ask(true)).tree.origin).toBe(`${last.origin}/3`);
  });

  it('that nobody signed yet has nothing to begin anew', async () => {
    const ask = log.asApi.call(auditLogRpc.beginAnew, 'nobody', { by: 'dana', force: true });
    await expect(ask).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a log that begins anew while it is being signed', () => {
  it('links what was signed last of the one before', async () => {
    const tenantId = 'busy';
    await log.grow(5, tenantId);
    // Whoever has this lets `keys` sign nothing of it.
    await log.sql.query('begin');
    await log.sql.query(`select pg_advisory_xact_lock(hashtextextended('keys:audit-log:' || $1, 0))`, [tenantId]);
    const untilWaiting = (count: number): Promise<void> =>
      eventually(async () => {
        const sql = `select 1 from pg_locks where locktype = 'advisory' and not granted`;
        expect((await log.sql.query(sql)).rows.length).toBeGreaterThanOrEqual(count);
      });
    await log.publish(2, tenantId);
    await untilWaiting(1);
    const begun = eventually(() => log.asApi.call(auditLogRpc.beginAnew, tenantId, { by: 'dana', force: true }));
    await untilWaiting(2);
    await log.sql.query('commit');
    const { tree, previous } = await begun;
    const [link] = await log.found(tenantId, 'begun-anew');
    expect(link?.body).toMatchObject({ statement: 'begun-anew', last: previous });
    expect((await log.grow(1, tenantId)).origin).toBe(tree.origin);
  });
});
