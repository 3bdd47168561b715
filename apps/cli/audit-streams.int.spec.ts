import { readFile, stat } from 'node:fs/promises';
import { auditEntry } from '@fairlead/api/testing';
import { FairleadError } from '@fairlead/errors';
import { beforeEach, describe, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const away = new FairleadError('UNAVAILABLE', 'the database is away');

beforeEach(() => {
  scene.api.script.auditLog = numbers(450).map(auditEntry);
  scene.api.script.auditFailure = () => undefined;
});

const entriesOf = (text: string): number[] =>
  text
    .split('\n')
    .flatMap((line) => /^\{"number":(\d+),/.exec(line)?.[1] ?? [])
    .map(Number);

describe('audit export', () => {
  it('writes the whole log and says so, to a file of its owner that was not there', async () => {
    const file = scene.scratch.file('audit.ndjson');
    expect(await scene.fairlead(['audit', 'export', '--out', file])).toMatchObject({ status: 0, out: '', err: '' });
    const text = await readFile(file, 'utf8');
    expect(entriesOf(text)).toEqual(numbers(450));
    expect(text.trimEnd().split('\n').at(-1)).toBe('{"complete":true,"count":450,"through":450}');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const again = await scene.fairlead(['audit', 'export', '--out', file]);
    expect(again).toMatchObject({ status: 2, err: expect.stringContaining('is there already') as string });
    expect(await readFile(file, 'utf8')).toBe(text);
    const csv = await scene.fairlead(['audit', 'export', '--format', 'csv', '--after', '449']);
    expect(csv.out.split('\n').map((row) => row.split(',')[0])).toEqual(['number', '450', 'complete', '']);
  });

  it.each(['ndjson', 'csv'])('goes on where it broke off, with nothing twice: %s', async (format) => {
    let failures = 0;
    scene.api.script.auditFailure = (after) => (after >= 200 && (failures += 1) <= 4 ? away : undefined);
    const { status, out } = await scene.fairlead(['audit', 'export', '--format', format]);
    expect([status, failures > 4]).toEqual([0, true]);
    const lines = out.trimEnd().split('\n');
    expect(lines.at(-1)).toBe(
      format === 'csv' ? `complete,450,450${','.repeat(16)}` : '{"complete":true,"count":450,"through":450}',
    );
    const found = format === 'csv' ? lines.slice(1, -1).map((row) => Number(row.split(',')[0])) : entriesOf(out);
    expect(found).toEqual(numbers(450));
  });

  it('says when it is not whole, and how to go on', async () => {
    const damaged = new FairleadError('INTERNAL', 'damaged');
    scene.api.script.auditFailure = (after) => (after >= 400 ? damaged : undefined);
    const { status, out, err } = await scene.fairlead(['audit', 'export']);
    expect(out).not.toContain('complete');
    // What was on its way may be lost with the connection.
    const last = entriesOf(out).length;
    expect(last).toBeGreaterThan(0);
    expect(entriesOf(out)).toEqual(numbers(last));
    expect([status, err]).toEqual([
      1,
      expect.stringContaining(`it has ${last} entries, the last one is number ${last}`),
    ]);
    expect(err).toContain(`--after ${last}`);
    scene.api.script.auditFailure = () => damaged;
    expect((await scene.fairlead(['audit', 'export'])).err).not.toContain('not whole');
  }, 120_000);
});

describe('audit search and show', () => {
  it('say that nothing is found, of how much', async () => {
    const { status, out, err } = await scene.fairlead(['audit', 'search', '--user', 'nobody', '-o', 'name']);
    expect([status, out]).toEqual([0, '']);
    expect(err).toContain('no entries: the log was read up to 450');
  });

  it.each([
    [['--since', '2026-11-31'], '2026-11-31 is no time'],
    [['--until', '2026-11-27T08:00'], '2026-11-27T08:00 is no time'],
    [['--since', '2026-11-28', '--until', '2026-11-27'], '--since 2026-11-28 is not before --until 2026-11-27'],
    [['--door', 'front'], 'kube-api'],
  ])('refuse what can find nothing: %j', async (filter, why) => {
    const { status, err } = await scene.fairlead(['audit', 'search', ...filter]);
    expect([status, err]).toEqual([2, expect.stringContaining(why) as string]);
  });

  it('name what they show, and where to look for what is not there', async () => {
    const { out } = await scene.fairlead(['audit', 'show', '7']);
    expect(out).toMatch(/^number: 7\nat: .*\nrecordedAt: .*\nkind: event\nsource: access\nuser: corp:alice\n/);
    const none = await scene.fairlead(['audit', 'show', '99999']);
    expect([none.status, none.err]).toEqual([
      1,
      expect.stringContaining('next: see which there are: fairlead audit search') as string,
    ]);
    const zero = await scene.fairlead(['audit', 'prove', '0']);
    expect([zero.status, zero.err]).toEqual([2, expect.stringContaining('next: see: fairlead audit search') as string]);
  });
});

describe('audit tail', () => {
  it('goes on behind what it heard when its connection ends, and ends with its login', async () => {
    let failures = 0;
    const { script } = scene.api;
    script.auditFailure = (after) => {
      // Once it has heard these, the stream breaks; then there is more; and at last nobody knows the token.
      if (after >= 450 && after < 460 && failures < 3) {
        failures += 1;
        if (failures === 3) script.auditLog = numbers(460).map(auditEntry);
        return away;
      }
      script.revoked = after >= 460;
      return undefined;
    };
    try {
      const { status, out, err } = await scene.fairlead(['audit', 'tail', '--after', '440', '-o', 'json']);
      expect(entriesOf(out)).toEqual(numbers(460).slice(440));
      expect(status).toBe(1);
      expect(err).toMatch(/refuses the token/);
    } finally {
      script.revoked = false;
    }
  }, 120_000);

  it('fails at once where it is not let in', async () => {
    await scene.fairlead(['logout']);
    expect(await scene.fairlead(['audit', 'tail'])).toMatchObject({ status: 1 });
  });
});
