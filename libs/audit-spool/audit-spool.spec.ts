import { appendFile, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditedPassage } from '@fairlead/contracts';
import { silentLogger, type Logger } from '@fairlead/observability';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditSpool } from './audit-spool.js';
import { contents, numbered } from './testing/records.js';

let scratch: ScratchDir;
let said: [string, unknown][];
const logger: Logger = {
  ...silentLogger,
  warn: (event, fields) => void said.push([event, fields]),
  error: (event, fields) => void said.push([event, fields]),
};
const MIB = 1024 ** 2;
const openSpool = (maxBytes = 64 * MIB, onSynced?: () => void): Promise<AuditSpool> =>
  AuditSpool.open({ dir: scratch.path, maxBytes, logger, ...(onSynced ? { onSynced } : {}) });

beforeEach(async () => {
  scratch = await scratchDir();
  said = [];
});
afterEach(() => scratch[Symbol.asyncDispose]());

async function segmentsOf(): Promise<string[]> {
  return (await readdir(scratch.path)).filter((name) => name.endsWith('.log')).sort();
}

async function idsIn(spool: AuditSpool): Promise<number[]> {
  return [...(await contents(spool)).values()].map(({ count }) => count);
}

describe('numbers', () => {
  it('begin with 1, go up by one, and go on in the same epoch when it is opened again', async () => {
    const first = await openSpool();
    for (let id = 1; id <= 3; id += 1) first.append(numbered(id));
    expect(await first.appendDurably(numbered(4))).toBe(4);
    await first[Symbol.asyncDispose]();
    await using again = await openSpool();
    expect(again.epoch).toBe(first.epoch);
    expect(await again.appendDurably(numbered(5))).toBe(5);
    expect([...(await contents(again)).entries()].map(([seq, { count }]) => [seq, count])).toEqual(
      [1, 2, 3, 4, 5].map((each) => [each, each]),
    );
  });

  it('go on behind what was acknowledged, of which nothing is kept but the newest segment', async () => {
    const first = await openSpool(MIB);
    for (let id = 1; id <= 300; id += 1) await first.appendDurably(numbered(id, 1_000));
    expect((await segmentsOf()).length).toBeGreaterThan(5);
    await first.acknowledge(300);
    expect(await segmentsOf()).toHaveLength(1);
    expect(first.records).toBe(0);
    await first[Symbol.asyncDispose]();
    await using again = await openSpool(MIB);
    expect(again.acknowledged).toBe(300);
    expect(await again.appendDurably(numbered(301))).toBe(301);
    expect(await idsIn(again)).toEqual([301]);
  });

  it('have an end: nothing more is taken, and it is done when all was taken over and nothing was lost', async () => {
    const ended = async (): Promise<AuditSpool> => {
      const spool = await openSpool();
      await spool.appendDurably(numbered(1));
      spool.append(numbered(2));
      spool.end();
      await spool.flush();
      expect([spool.isDone, await idsIn(spool)]).toEqual([false, [1, 2]]);
      await spool.acknowledge(2);
      return spool;
    };
    {
      await using spool = await ended();
      expect(spool.isDone).toBe(true);
      await expect(spool.appendDurably(numbered(3))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect([spool.append(numbered(3)), spool.isDone]).toEqual([false, false]);
    }
    await using again = await openSpool();
    expect(await again.appendDurably(numbered(3))).toBe(3);
  });

  it('begin anew where the directory is behind what was acknowledged: none is given twice', async () => {
    const first = await openSpool();
    await first.appendDurably(numbered(1));
    await first.acknowledge(1);
    await first[Symbol.asyncDispose]();
    const [segment = ''] = await segmentsOf();
    await writeFile(join(scratch.path, segment), '');
    await using again = await openSpool();
    expect(again.epoch).not.toBe(first.epoch);
    expect(await again.appendDurably(numbered(2))).toBe(1);
    expect(said.map(([event]) => event)).toContain('audit.spool.behind');
  });

  it('are known without the mark: what was acknowledged comes again', async () => {
    const first = await openSpool();
    await first.appendDurably(numbered(1));
    await first.acknowledge(1);
    await first[Symbol.asyncDispose]();
    await rm(join(scratch.path, 'state.json'));
    await using again = await openSpool();
    expect([again.epoch, again.acknowledged]).toEqual([first.epoch, 0]);
    expect(await idsIn(again)).toEqual([1]);
  });
});

it('shares one fsync among all that wait, and gathers the next group meanwhile', async () => {
  let syncs = 0;
  await using spool = await openSpool(64 * MIB, () => (syncs += 1));
  const numbers = await Promise.all(Array.from({ length: 1_000 }, (_none, id) => spool.appendDurably(numbered(id))));
  expect(numbers).toEqual(Array.from({ length: 1_000 }, (_none, at) => at + 1));
  expect(syncs).toBeLessThanOrEqual(2);
});

it('gives out nothing that is not durable, and all of it after a flush', async () => {
  await using spool = await openSpool();
  spool.append(numbered(1));
  await eventually(() => expect(spool.bytes).toBeGreaterThan(0));
  expect(await idsIn(spool)).toEqual([]);
  await spool.flush();
  expect(await idsIn(spool)).toEqual([1]);
});

it('reads in batches of so many records and bytes, over the ends of segments', async () => {
  await using spool = await openSpool(MIB);
  for (let id = 1; id <= 200; id += 1) spool.append(numbered(id, 1_000));
  await spool.flush();
  const byCount = await spool.read(0, { records: 7, bytes: MIB });
  expect([byCount.firstSeq, byCount.records.length]).toEqual([1, 7]);
  const byBytes = await spool.read(50, { records: 200, bytes: 10_500 });
  expect([byBytes.firstSeq, byBytes.records.length]).toEqual([51, 10]);
  // Whoever hands them on goes on at once, whichever limit it was.
  const rest = await spool.read(190, { records: 200, bytes: MIB });
  expect([byCount, byBytes, rest].map(({ isFull }) => isFull)).toEqual([true, true, false]);
  expect(await idsIn(spool)).toEqual(Array.from({ length: 200 }, (_none, at) => at + 1));
});

it('reads from the disk what is more than it keeps in memory', async () => {
  const ids = Array.from({ length: 3_000 }, (_none, at) => at + 1);
  await using spool = await openSpool();
  for (const id of ids) spool.append(numbered(id, 1_000));
  await spool.flush();
  expect(await idsIn(spool)).toEqual(ids);
});

it('knows by its segments what was given up where the mark could not be written', async () => {
  const first = await openSpool(MIB);
  for (let id = 1; id <= 300; id += 1) await first.appendDurably(numbered(id, 1_000));
  await first.acknowledge(200);
  await first[Symbol.asyncDispose]();
  await writeFile(
    join(scratch.path, 'state.json'),
    JSON.stringify({ version: 1, epoch: first.epoch, acknowledged: 1 }),
  );
  await using again = await openSpool(MIB);
  const found = await idsIn(again);
  expect(found[0]).toBeGreaterThan(150);
  expect(found).toEqual(Array.from({ length: found.length }, (_none, at) => 301 - found.length + at));
});

describe('what was damaged', () => {
  async function filled(): Promise<string> {
    const spool = await openSpool();
    for (let id = 1; id <= 10; id += 1) await spool.appendDurably(numbered(id));
    await spool[Symbol.asyncDispose]();
    const [segment = ''] = await segmentsOf();
    return join(scratch.path, segment);
  }

  it('at the end, as a death leaves it, is cut', async () => {
    const path = await filled();
    await appendFile(path, '0badc0de 11 {"phase":"lo');
    await using spool = await openSpool();
    expect(said.map(([event]) => event)).toEqual(['audit.spool.torn_end']);
    expect(await spool.appendDurably(numbered(11))).toBe(11);
    expect(await idsIn(spool)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it.each([
    ['a byte of one', (line: number) => line + 20, 1, 1],
    ['the newline between two', (_line: number, end: number) => end - 1, 1, 2],
  ])('in the middle, %s, is named and counted, and what follows is kept', async (_what, where, changed, lost) => {
    const path = await filled();
    const text = await readFile(path, 'utf8');
    const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(changed, 'X'), 0, changed, where(ends[3] ?? 0, ends[4] ?? 0));
    await file.close();
    await using spool = await openSpool();
    const found = await contents(spool);
    expect([...found.keys()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const damaged = [...found.values()].filter(({ why }) => why.includes('damaged'));
    expect(damaged.map(({ count }) => count)).toEqual(Array.from({ length: lost }, () => 1));
    expect([...found.values()].slice(-4).map(({ count }) => count)).toEqual([7, 8, 9, 10]);
    expect(said).toEqual([['audit.spool.damaged', { segment: path, firstSeq: 5, count: lost }]]);
  });

  it('as a whole segment, deleted by somebody, is counted one by one', async () => {
    const spool = await openSpool(MIB);
    for (let id = 1; id <= 200; id += 1) await spool.appendDurably(numbered(id, 1_000));
    await spool[Symbol.asyncDispose]();
    const [, second = '', third = ''] = await segmentsOf();
    await rm(join(scratch.path, second));
    const missing = Number(third.split('.')[1]) - Number(second.split('.')[1]);
    await using again = await openSpool(MIB);
    const found = await contents(again);
    expect([...found.keys()]).toEqual(Array.from({ length: 200 }, (_none, at) => at + 1));
    expect([...found.values()].filter(({ why }) => why.includes('damaged'))).toHaveLength(missing);
  });
});

describe('a spool that is full', () => {
  it('keeps the last of its room for what is required and for break-glass, and counts the rest exactly', async () => {
    const maxBytes = 256 * 1024;
    await using spool = await openSpool(maxBytes);
    let taken = 0;
    for (; spool.append(numbered(taken, 1_000)); taken += 1) if (taken % 20 === 0) await spool.flush();
    for (let more = 0; more < 9; more += 1) spool.append(numbered(0, 1_000));
    await expect(spool.appendDurably(numbered(0, 1_000), 'required')).resolves.toBeGreaterThan(0);
    const fill = async (keep: 'required' | 'break-glass'): Promise<string> => {
      for (;;) {
        const refusal = await spool.appendDurably(numbered(0, 1_000), keep).catch((error: Error) => error);
        if (typeof refusal !== 'number') return refusal.message;
      }
    };
    expect(await fill('required')).toContain('the audit spool is full (262144 bytes)');
    await expect(spool.appendDurably(numbered(0, 1_000), 'break-glass')).resolves.toBeGreaterThan(0);
    await fill('break-glass');
    expect(spool.lost).toBe(10);
    expect(spool.bytes).toBeLessThanOrEqual(maxBytes);
    const told = async (): Promise<number[]> =>
      [...(await contents(spool)).values()].filter(({ why }) => why.includes('full')).map(({ count }) => count);
    expect(await told()).toEqual([10]);
    expect(spool.append(numbered(0, 1_000))).toBe(false);
    expect(await told()).toEqual([10]);
    await spool.acknowledge((await contents(spool)).size);
    await spool.flush();
    expect(await told()).toEqual([1]);
  });

  it('names the passages that it lost and of which an intent may be on record, so many in a record', async () => {
    await using spool = await openSpool(256 * 1024);
    let taken = 0;
    for (; spool.append(numbered(taken, 1_000)); taken += 1) if (taken % 20 === 0) await spool.flush();
    const ids = Array.from({ length: 100 }, () => crypto.randomUUID());
    const outcome = (id: string) => ({ phase: 'outcome', id, userAgent: 'x'.repeat(1_000) }) as AuditedPassage;
    for (const id of ids) expect(spool.append(outcome(id), 'best-effort', true)).toBe(false);
    expect(spool.append(outcome(crypto.randomUUID()))).toBe(false);
    const told = await eventually(async () => {
      await spool.flush();
      const lost = [...(await contents(spool)).values()].filter(({ why }) => why.includes('full'));
      expect(lost).toHaveLength(2);
      return lost;
    });
    expect(told.map(({ count, passages = [] }) => [count, passages.length])).toEqual([
      [64, 64],
      [spool.lost - 64, 36],
    ]);
    expect(told.flatMap(({ passages = [] }) => passages)).toEqual(ids);
  });
});
