import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { AuditEntry } from '@fairlead/contracts';
import { afterEach, describe, expect, it } from 'vitest';
import type { CliResult } from './testing/cli-runner.js';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();
const START_MS = Date.parse('2026-03-01T08:00:00.000Z');
const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString();

afterEach(() => {
  scene.api.script.auditLog = [];
});

type Told = Readonly<Record<string, unknown>>;

const told = (auditId: string | null, more: Told = {}): Told => ({
  auditId,
  at: at(10),
  method: 'PUT',
  path: '/clusters/demo/api/v1/namespaces/shop/configmaps/a',
  status: 200,
  ...more,
});

type Said = Omit<AuditEntry, 'number' | 'recordedAt'>;

const entry = (kind: AuditEntry['kind'], body: Told, more: Partial<Said> = {}): Said => ({
  at: at(11),
  kind,
  source: 'gateway-a',
  user: 'load',
  cluster: 'demo',
  action: 'update configmaps/a -n shop',
  decision: 'allowed',
  body,
  ...more,
});
const intent = (id: string): Said => entry('passage', { phase: 'intent', id, status: 0 });
const outcome = (id: string, status = 200, more: Partial<Said> = {}): Said =>
  entry('passage', { phase: 'outcome', id, status }, more);
const unknown = (passageId: string): Said => entry('unknown', { passageId }, { source: 'audit' });

async function reconcile(file: readonly Told[], log: readonly Said[], ...options: string[]): Promise<CliResult> {
  const path = scene.scratch.file('requests.ndjson');
  await writeFile(path, file.map((line) => `${JSON.stringify(line)}\n`).join(''));
  scene.api.script.auditLog = log.map((each, index) => ({ ...each, number: index + 1, recordedAt: each.at }));
  return scene.fairlead(['audit', 'reconcile', path, ...options]);
}

const NONE = { count: 0, ids: [] };

describe('audit reconcile', () => {
  it('is content with what stands in the log once, and says what began and did not end', async () => {
    const [read, write, broken] = [randomUUID(), randomUUID(), randomUUID()];
    const file = [told(read, { method: 'GET', required: false }), told(write, { status: 201 }), told(broken)];
    // What was before the first request, by more than clocks differ, is not asked for.
    const before = outcome(read, 200, { at: at(-3_600) });
    const log = [before, outcome(read), intent(write), outcome(write, 201), intent(broken), unknown(broken)];
    const { status, out, err } = await reconcile([...file, told(null, { status: null })], log, '-o', 'json');
    expect([status, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toEqual({
      requests: 4,
      noAnswer: 1,
      unnamed: 0,
      once: 2,
      unknown: 1,
      unsettled: 0,
      notKept: 0,
      lost: 0,
      missing: NONE,
      twice: NONE,
      otherStatus: NONE,
      notInFile: NONE,
      from: at(10),
      to: at(10),
    });
  });

  it('names what is missing, stands there twice, or otherwise, and fails', async () => {
    const [missing, twice, other] = [randomUUID(), randomUUID(), randomUUID()];
    const [dropped, second] = [randomUUID(), randomUUID()];
    const log = [
      intent(twice),
      outcome(twice),
      intent(twice),
      outcome(other, 500),
      outcome(second),
      outcome(second),
      entry('lost', { phase: 'lost', count: 7 }, { user: '' }),
      entry('lost', { phase: 'lost', count: 70 }, { user: '', at: at(500) }),
    ];
    const file = [missing, twice, other, second].map((id) => told(id));
    const { status, out, err } = await reconcile(
      [...file, told(dropped, { required: false }), told(null, { at: at(20) })],
      log,
    );
    expect(status).toBe(1);
    expect(out).toContain(`1 missing:\n  ${missing}\n2 in the log twice:\n`);
    expect(out).toContain(`1 in the log with another status:\n  ${other}\n`);
    expect(out).toContain('1 that nobody promised to keep are not in the log\n7 records were lost');
    expect(err).toContain('1 missing, 2 there twice, 1 with another status, 1 answered without an Audit-Id');
  });

  it('tells what the same users did meanwhile that is not in the file', async () => {
    const [known, unlisted, elsewhere, later] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const brokeOff = randomUUID();
    const log = [
      outcome(known),
      outcome(brokeOff, 0),
      intent(unlisted),
      outcome(unlisted),
      outcome(elsewhere, 200, { user: 'somebody-else' }),
      outcome(later, 200, { at: at(500) }),
    ];
    const { status, out } = await reconcile([told(known), told(brokeOff, { at: at(20), status: null })], log);
    expect(status).toBe(0);
    expect(out).toContain(`1 in the log and not in the file:\n  ${unlisted}\n`);
  });

  it('waits for what is still missing, page by page', async () => {
    const ids = Array.from({ length: 450 }, () => randomUUID());
    const log = ids.map((id) => outcome(id));
    const late = log.pop();
    const { script } = scene.api;
    const adding = setInterval(() => {
      const last = script.auditLog.at(-1);
      if (last?.number !== 449 || !late) return;
      script.auditLog = [...script.auditLog, { ...last, ...late, number: 450 }];
    }, 1_500);
    const file = ids.map((id) => told(id));
    const { status, out, err } = await reconcile(file, log, '--wait', '2m').finally(() => clearInterval(adding));
    expect([status, err]).toEqual([0, '']);
    expect(out).toContain('450 are in the log once');
  });

  it.each([
    ['is no JSON', '{"auditId"', 'line 1 is none'],
    ['names no status', JSON.stringify(told(null, { status: undefined })), 'line 1 is none: status'],
    [
      'has an id twice',
      `${JSON.stringify(told('018f6f2e-7c1a-4b3e-9d55-2f1f0a4c9e11'))}\n`.repeat(2),
      'line 2 has an id',
    ],
    ['is without end', 'x'.repeat(200_000), 'a line is too long'],
    ['is empty', '\n', 'has no request'],
  ])('refuses a file that %s', async (_what, text, said) => {
    const path = scene.scratch.file('bad.ndjson');
    await writeFile(path, text);
    const { status, err } = await scene.fairlead(['audit', 'reconcile', path]);
    expect([status, err]).toEqual([1, expect.stringContaining(said)]);
  });
});
