import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '@fairlead/observability';
import { eventually, freeze, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AuditSpool } from './audit-spool.js';
import { lockSpool } from './spool-lock.js';
import { contents, numbered } from './testing/records.js';

const MAIN = fileURLToPath(new URL('testing/spool-main.ts', import.meta.url));
const FROM_SOURCE = fileURLToPath(new URL('../../tools/testbed/fixtures/from-source.mjs', import.meta.url));
const KILLS = 5;

let scratch: ScratchDir;
beforeEach(async () => void (scratch = await scratchDir()));
afterEach(() => scratch[Symbol.asyncDispose]());

const openSpool = (dir: string, maxBytes = 64 * 1024 ** 2): Promise<AuditSpool> =>
  AuditSpool.open({ dir, maxBytes, logger: silentLogger });

interface Writer {
  readonly child: ChildProcess;
  /** What it said is durable: record by number. */
  readonly durable: Map<number, number>;
}

/** Resolves once its spool is open. */
async function startWriter(dir: string, firstId: number): Promise<Writer> {
  const args = ['--conditions=fairlead-source', '--import', FROM_SOURCE, MAIN, dir, String(firstId)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const durable = new Map<number, number>();
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the writer ended')));
  ended.catch(() => undefined);
  const lines = createInterface({ input: child.stdout });
  await Promise.race([once(lines, 'line'), ended]);
  lines.on('line', (line) => {
    const [seq = NaN, id = NaN] = line.split(' ').map(Number);
    if (durable.has(seq)) throw new Error(`the number ${seq} was given twice`);
    durable.set(seq, id);
  });
  return { child, durable };
}

it(`misses nothing that was said to be durable when its process is killed, ${KILLS} times`, async () => {
  const durable = new Map<number, number>();
  for (let kills = 0; kills < KILLS; kills += 1) {
    const writer = await startWriter(scratch.path, 1 + kills * 1_000_000);
    await eventually(() => expect(writer.durable.size).toBeGreaterThan(200));
    await sleep(Math.random() * 50);
    const ended = once(writer.child, 'close');
    writer.child.kill('SIGKILL');
    await ended;
    for (const [seq, id] of writer.durable) {
      expect(durable.has(seq)).toBe(false);
      durable.set(seq, id);
    }
  }
  await using spool = await openSpool(scratch.path);
  const found = await contents(spool);
  expect([...found.keys()]).toEqual(Array.from({ length: found.size }, (_none, at) => at + 1));
  for (const [seq, id] of durable) expect(found.get(seq)?.count).toBe(id);
  expect([...found.values()].filter(({ why }) => why.includes('damaged'))).toEqual([]);
});

it('refuses a second process, and says which directory', async () => {
  const { child } = await startWriter(scratch.path, 1);
  await expect(openSpool(scratch.path)).rejects.toMatchObject({
    code: 'ALREADY_EXISTS',
    message: `another process has the audit spool ${scratch.path}: each gateway needs a directory of its own`,
  });
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  await using spool = await openSpool(scratch.path);
  expect(spool.records).toBeGreaterThan(0);
});

it('leaves the directory of a process that stands still to it, and has it at once when that was killed', async () => {
  const { child } = await startWriter(scratch.path, 1);
  await freeze(child);
  await expect(lockSpool(scratch.path, 0)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const release = await lockSpool(scratch.path, 0);
  await expect(lockSpool(scratch.path, 0)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  release();
  (await lockSpool(scratch.path, 0))();
});

it('says why where nothing can be locked', async () => {
  await expect(lockSpool(scratch.file('nothing-here'), 0)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: `the audit spool ${scratch.file('nothing-here')} cannot be locked: unable to open database file`,
  });
});

// A file system of its own needs root; a bound in bytes is in the unit tests.
it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'says that the disk is full, and goes on with a count of what was lost when there is room',
  async () => {
    const disk = scratch.file('disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
    try {
      const ballast = join(disk, 'ballast');
      await writeFile(ballast, Buffer.alloc(96 * 1024));
      await using spool = await openSpool(join(disk, 'spool'));
      expect(await spool.appendDurably(numbered(1))).toBe(1);
      let written = 1;
      const refusal = await eventually(async () => {
        for (let id = 2; id < 1_000; id += 1) {
          const outcome = await spool.appendDurably(numbered(id, 1_000)).catch((error: Error) => error);
          if (typeof outcome !== 'number') return outcome;
          expect(outcome).toBe(id);
          written = outcome;
        }
        throw new Error('it never was full');
      });
      expect(refusal).toMatchObject({ code: 'UNAVAILABLE', message: 'the audit spool cannot be written to (ENOSPC)' });
      for (let lost = 0; lost < 7; lost += 1) expect(spool.append(numbered(0))).toBe(false);
      await rm(ballast);
      await eventually(() => expect(spool.failure).toBeNull());
      await eventually(() => spool.flush());
      const found = await contents(spool);
      expect([...found.keys()]).toEqual(Array.from({ length: written + 1 }, (_none, at) => at + 1));
      expect(found.get(written + 1)).toMatchObject({ phase: 'lost', count: 7 });
      expect(await spool.appendDurably(numbered(0))).toBe(written + 2);
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);
