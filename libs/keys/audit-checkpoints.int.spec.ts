import 'reflect-metadata';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditTreeToSign, SignedAuditTree } from '@fairlead/contracts';
import { silentLogger } from '@fairlead/observability';
import {
  EMPTY_ROOT,
  noteSigner,
  openCheckpoint,
  parseVerifierKey,
  proveConsistency,
  signCheckpoint,
  verifierKey,
} from '@fairlead/transparency-log';
import { LogInMemory } from '@fairlead/transparency-log/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { AuditCheckpoints } from './feature/audit-checkpoints.js';
import { CheckpointFiles } from './feature/checkpoint-files.js';
import { keysOfEach, source, trustDomain, type KeysProcess } from './testing/keys-fixture.js';

let keys: KeysProcess;
let checkpoints: AuditCheckpoints;
const fixture = keysOfEach(async () => {
  keys = await fixture.start();
  checkpoints = new AuditCheckpoints({ database: keys.database, source, logger: silentLogger, ca: keys.ca });
});

/** A log that somebody keeps, and what to ask for when it is to be signed. */
class KeptLog {
  readonly #log = new LogInMemory();
  #signed = 0;

  append(count: number): this {
    this.#log.append(Array.from({ length: count }, () => randomBytes(40)));
    return this;
  }

  get root(): string {
    return base64(this.#log.root);
  }

  async toSign(from = this.#signed): Promise<AuditTreeToSign> {
    const { size } = this.#log.edge;
    this.#signed = size;
    const proof = await proveConsistency(this.#log, from, size);
    return { incarnation: 1, size, root: this.root, from, proof: proof.map(base64) };
  }
}

const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64');

it('signs a tree that goes on from the one before, as others verify it', async () => {
  const log = new KeptLog();
  expect(await checkpoints.last('default')).toBeNull();
  for (const count of [1, 300, 5]) {
    const { signed, tree } = await checkpoints.sign('default', await log.append(count).toSign());
    expect(signed).toBe(true);
    expect(tree.origin).toBe(`${trustDomain}/audit/default`);
    const opened = openCheckpoint(Buffer.from(tree.note), tree.origin, [parseVerifierKey(tree.verifierKey)]);
    expect([opened.size, base64(opened.root)]).toEqual([tree.size, log.root]);
    expect(await checkpoints.last('default')).toEqual(tree);
  }
});

it('signs nothing that does not go on from it: another tree of that size, a smaller one, or one with a proof of another', async () => {
  const [log, other] = [new KeptLog().append(10), new KeptLog().append(10)];
  const first = await checkpoints.sign('default', await log.toSign());
  const forked = { ...(await other.toSign()), from: 10 };
  await expect(checkpoints.sign('default', forked)).rejects.toMatchObject({ code: 'CONFLICT' });
  const changed = await other.append(5).toSign(10);
  await expect(checkpoints.sign('default', changed)).rejects.toMatchObject({ code: 'CONFLICT' });
  const smaller = { ...(await new KeptLog().append(9).toSign()), from: 10 };
  await expect(checkpoints.sign('default', smaller)).rejects.toMatchObject({ code: 'CONFLICT' });
  // From another tree than the last: it is told which that is, and nothing is signed.
  expect(await checkpoints.sign('default', await other.toSign(0))).toEqual({ signed: false, tree: first.tree });
  expect(await checkpoints.last('default')).toEqual(first.tree);
  expect((await checkpoints.sign('default', await log.append(1).toSign())).signed).toBe(true);
});

it('keeps tenants apart, each with a key of its own that survives a restart', async () => {
  const [own, others] = [new KeptLog().append(1), new KeptLog().append(1)];
  const { tree } = await checkpoints.sign('default', await own.toSign());
  const { tree: second } = await checkpoints.sign('shop', await others.toSign());
  expect(second.verifierKey.split('+')[2]).not.toBe(tree.verifierKey.split('+')[2]);
  const again = new AuditCheckpoints({ database: keys.database, source, logger: silentLogger, ca: keys.ca });
  const later = await again.sign('default', await own.append(1).toSign());
  expect(later.tree.verifierKey).toBe(tree.verifierKey);
});

it('a log that lost its newest records begins anew under another origin, once, and it is told', async () => {
  const log = new KeptLog().append(20);
  const { tree: last } = await checkpoints.sign('default', await log.toSign());
  const first = { size: 3, root: new KeptLog().append(3).root };
  const wrong = checkpoints.beginAnew('default', { ...last, size: 19 }, first, 'dana');
  await expect(wrong).rejects.toMatchObject({ code: 'CONFLICT' });
  const anew = await checkpoints.beginAnew('default', last, first, 'dana');
  expect(anew).toMatchObject({ incarnation: 2, size: 3, origin: `${trustDomain}/audit/default/2` });
  openCheckpoint(Buffer.from(anew.note), anew.origin, [parseVerifierKey(anew.verifierKey)]);
  const [{ body }] = (await keys.database.query('select body from outbox order by id desc limit 1')) as [
    { body: string },
  ];
  expect(JSON.parse(body)).toMatchObject({
    type: 'dev.fairlead.audit-log.begun-anew.v1',
    data: { origin: anew.origin, lastNote: last.note },
  });
  await expect(checkpoints.beginAnew('default', last, first, 'dana')).rejects.toMatchObject({ code: 'CONFLICT' });
  // The old one is not signed again.
  expect(await checkpoints.sign('default', await log.append(1).toSign())).toMatchObject({ signed: false });
});

describe('with files outside the database', () => {
  let lines: [string, unknown][];
  let files: CheckpointFiles;
  let dir: string;
  const read = async (...path: string[]): Promise<string> => readFile(join(dir, ...path), 'utf8');

  beforeEach(async () => {
    dir = fixture.scratch.file(`checkpoints-${randomBytes(4).toString('hex')}`);
    lines = [];
    const say = (event: string, fields: unknown) => void lines.push([event, fields]);
    const logger = { ...silentLogger, info: say, warn: say };
    const now = () => new Date(fixture.nowMs);
    files = new CheckpointFiles({ dir, logger, now });
    checkpoints = new AuditCheckpoints({ database: keys.database, source, logger, ca: keys.ca, files });
  });

  it('each checkpoint is there, the newest by itself and some of each day for good', async () => {
    fixture.nowMs = Date.parse('2026-03-01T10:00:00Z');
    const log = new KeptLog();
    const { tree: first } = await checkpoints.sign('default', await log.append(3).toSign());
    fixture.nowMs += 60_000;
    const { tree: second } = await checkpoints.sign('default', await log.append(3).toSign());
    expect(await files.last('default')).toEqual(second);
    const days = async () =>
      (await read('default', '2026-03-01.jsonl'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    expect(await days()).toMatchObject([
      { origin: first.origin, checkpoint: first.note, verifierKey: first.verifierKey },
    ]);
    expect(lines).toEqual([
      ['audit_log.signed', { tenantId: 'default', origin: first.origin, checkpoint: first.note }],
    ]);
    fixture.nowMs += 900_000;
    const { tree: third } = await checkpoints.sign('default', await log.append(1).toSign());
    expect((await days()).map(({ checkpoint }) => checkpoint)).toEqual([first.note, third.note]);
    expect(await readdir(join(dir, 'default'))).toEqual(['2026-03-01.jsonl', 'last.json']);
  });

  it('a database that was set back, or changed, gets no signature', async () => {
    const log = new KeptLog().append(10);
    await checkpoints.sign('default', await log.toSign());
    const shorter = await new KeptLog().append(11).toSign(10);
    const { tree: last } = await checkpoints.sign('default', await log.append(10).toSign());
    for (const sql of [
      'update audit_logs set size = 10',
      `update audit_logs set size = 0, root = '${base64(EMPTY_ROOT)}'`,
      `update audit_logs set size = 40, root = '${base64(new LogInMemory().append([Buffer.from('x')]).root)}'`,
    ]) {
      await keys.database.query(sql);
      for (const from of [0, 10, 40]) {
        expect(await checkpoints.sign('default', { ...shorter, from, proof: [] })).toEqual({
          signed: false,
          tree: last,
        });
      }
      await expect(checkpoints.sign('default', { ...shorter, from: 20 })).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await checkpoints.last('default')).toEqual(last);
    }
    // What goes on from what was signed is signed, whatever the database says.
    expect((await checkpoints.sign('default', await log.append(2).toSign())).signed).toBe(true);
  });

  it('a log of which the database lost the key is signed by no other one, and begins anew', async () => {
    const log = new KeptLog().append(10);
    const { tree: last } = await checkpoints.sign('default', await log.toSign());
    await keys.database.query('delete from audit_logs');
    await expect(checkpoints.sign('default', await log.append(1).toSign())).rejects.toMatchObject({ code: 'CONFLICT' });
    const anew = await checkpoints.beginAnew('default', last, { size: 4, root: new KeptLog().append(4).root }, 'dana');
    expect(anew.origin).toBe(`${trustDomain}/audit/default/2`);
    expect(await files.last('default')).toEqual(anew);
  });

  const warned = () => lines.filter(([event]) => event !== 'audit_log.signed');
  const forge = async (tree: SignedAuditTree, { size, origin }: { size: number; origin: string }) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const root = Buffer.from(new KeptLog().append(size).root, 'base64');
    const note = await signCheckpoint({ origin, size, root }, [noteSigner(origin, privateKey)]);
    const key = verifierKey(origin, 'ed25519', privateKey);
    return { ...tree, size, origin, root: base64(root), note: note.toString('utf8'), verifierKey: key };
  };

  it('files that were restored to an earlier point set nothing back: the later of both counts, and it is told once', async () => {
    const log = new KeptLog().append(10);
    const { tree: first } = await checkpoints.sign('default', await log.toSign());
    const before = await read('default', 'last.json');
    const fork = await new KeptLog().append(15).toSign(10);
    const { tree: last } = await checkpoints.sign('default', await log.append(10).toSign());
    await writeFile(join(dir, 'default', 'last.json'), before);
    expect(await files.last('default')).toEqual(first);
    expect(await checkpoints.last('default')).toEqual(last);
    for (let turn = 0; turn < 2; turn += 1)
      expect(await checkpoints.sign('default', { ...fork, from: 10 })).toEqual({ signed: false, tree: last });
    expect(warned()).toEqual([
      [
        'audit_log.checkpoints_disagree',
        { tenantId: 'default', found: 'file-behind', origin: last.origin, size: last.size },
      ],
    ]);
    const { tree: next } = await checkpoints.sign('default', await log.append(1).toSign());
    expect(await files.last('default')).toEqual(next);
  });

  it('files that went away are told of, and the database counts until they are written again', async () => {
    const log = new KeptLog().append(10);
    const { tree: last } = await checkpoints.sign('default', await log.toSign());
    await rm(join(dir, 'default', 'last.json'));
    const fork = await new KeptLog().append(15).toSign(0);
    expect(await checkpoints.sign('default', fork)).toEqual({ signed: false, tree: last });
    expect(await checkpoints.sign('default', fork)).toEqual({ signed: false, tree: last });
    const fields = { tenantId: 'default', found: 'file-missing', origin: last.origin, size: last.size };
    expect(warned()).toEqual([['audit_log.checkpoint_file_missing', fields]]);
    const { tree: next } = await checkpoints.sign('default', await log.append(1).toSign());
    expect(await files.last('default')).toEqual(next);
  });

  it('whoever writes the database gains nothing by a later checkpoint that the key did not sign', async () => {
    const log = new KeptLog().append(10);
    const { tree: last } = await checkpoints.sign('default', await log.toSign());
    const forged = await forge(last, { size: 40, origin: last.origin });
    const second = await forge(last, { size: 5, origin: `${last.origin}/2` });
    const rows = [
      { ...forged, incarnation: 1 },
      { ...forged, incarnation: 1, verifierKey: last.verifierKey },
      { ...second, incarnation: 2 },
      { ...second, incarnation: 2, verifierKey: last.verifierKey },
      { ...last, incarnation: 2 },
    ];
    for (const { incarnation, size, root, note, verifierKey: key } of rows) {
      await keys.database.query(
        'update audit_logs set incarnation = $1, size = $2, root = $3, note = $4, verifier_key = $5',
        [incarnation, size, root, note, key],
      );
      expect(await checkpoints.last('default')).toEqual(last);
      const asked = { incarnation, size: size + 1, root: new KeptLog().append(size + 1).root, from: size, proof: [] };
      // Where the size is that of what was signed, it is the proof that is missing.
      const answer = await checkpoints.sign('default', asked).catch(({ code }: { code: string }) => code);
      expect(answer).toEqual({ signed: false, tree: last });
    }
    expect(warned()).toHaveLength(1);
    expect((await checkpoints.sign('default', await log.append(2).toSign())).signed).toBe(true);
  });

  it('whoever writes the files gains nothing by a checkpoint of another key, tenant or number', async () => {
    const log = new KeptLog().append(10);
    const { tree: last } = await checkpoints.sign('default', await log.toSign());
    const written = JSON.parse(await read('default', 'last.json')) as Record<string, unknown>;
    const { tree: shop } = await checkpoints.sign('shop', await new KeptLog().append(3).toSign());
    const ofShop = JSON.parse(await read('shop', 'last.json')) as Record<string, unknown>;
    const next = await log.append(1).toSign();
    const put = (said: Record<string, unknown>): Promise<void> =>
      writeFile(join(dir, 'default', 'last.json'), JSON.stringify({ ...written, ...said }));
    for (const said of [
      ofShop,
      { ...ofShop, tenantId: 'default' },
      { incarnation: 2 },
      { checkpoint: last.note.replace('\n10\n', '\n9\n') },
      { checkpoint: shop.note },
    ]) {
      await put(said);
      await expect(checkpoints.sign('default', next)).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(checkpoints.last('default')).rejects.toMatchObject({ code: 'CONFLICT' });
    }
    const forged = await forge(last, { size: 10, origin: last.origin });
    await put({ checkpoint: forged.note, verifierKey: forged.verifierKey });
    const goesOn = { ...next, from: 10, size: 10, root: forged.root, proof: [] };
    await expect(checkpoints.sign('default', goesOn)).rejects.toMatchObject({ code: 'CONFLICT' });
    const anew = checkpoints.beginAnew('default', forged, { size: 4, root: next.root }, 'dana');
    await expect(anew).rejects.toMatchObject({ code: 'CONFLICT' });
    await put({});
    expect((await checkpoints.sign('default', next)).signed).toBe(true);
  });

  it('what cannot be written or read is not signed', async () => {
    const log = new KeptLog().append(10);
    await checkpoints.sign('default', await log.toSign());
    await writeFile(join(dir, 'default', 'last.json'), '{"version":1');
    const next = await log.append(1).toSign();
    await expect(checkpoints.sign('default', next)).rejects.toMatchObject({ code: 'CONFLICT' });
    await writeFile(join(dir, 'shop'), 'no folder');
    const other = await new KeptLog().append(1).toSign();
    await expect(checkpoints.sign('shop', other)).rejects.toThrow(/checkpoint .*cannot be (read|written)/s);
    expect(await keys.database.query(`select size::int from audit_logs`)).toEqual([{ size: 10 }]);
  });
});
