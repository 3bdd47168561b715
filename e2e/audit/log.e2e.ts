import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FORGET_SIGNED, backUpLog, restoreLog, rewriteLog, type Query } from '@fairlead/audit/testing';
import type { Service } from '@fairlead/contracts';
import type { Stack } from '@fairlead/stack';
import { findBinary } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { parseVerifierKey, type NoteVerifier } from '@fairlead/transparency-log';
import { policyText, startTestWitness, type TestWitness } from '@fairlead/transparency-log/testing';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandOf, logIn, succeeds } from '../access/person.js';
import { fairlead } from '../support/fairlead.js';
import { connectAs, queryDatabase } from '../support/service-database.js';
import {
  SUBSCRIBERS,
  makeSubscriber,
  runSubscriber,
  type MadeSubscriber,
  type RunningSubscriber,
  type ToldEvent,
} from '../support/subscriber-sample.js';
import { kubectl, scratchStateDir, startTestStack, whoHoldsTheLink, type TestStack } from '../support/test-stack.js';
import { entriesFound, verifiedLog, type Exported, type Verified } from './answers.js';
import { DAMAGES } from './damages.js';

/** From a door by spool, stream and ingest to an entry; and until a checkpoint is of it. */
const SEEN_WITHIN_MS = 30_000;
const FSCK_TIMEOUT_MS = 60_000;
const AUDIT_DOCUMENT = new URL('../../docs/audit.md', import.meta.url);
/** One that has refused is asked again within a minute. */
const ASKED_AGAIN_WITHIN_MS = 150_000;

let running: TestStack;
let stack: Stack;
/** What witnesses know: by origin, the keys of logs. */
const knownLogs = new Map<string, readonly NoteVerifier[]>();
const witnesses: TestWitness[] = [];

beforeAll(async () => {
  const stateDir = await scratchStateDir();
  const policy = join(stateDir, 'witnesses.policy');
  for (const name of ['w1.test', 'w2.test']) witnesses.push(await startTestWitness({ name, logs: knownLogs }));
  await writeFile(policy, policyText(witnesses, 'group both all w0 w1', 'quorum both'));
  const env = { audit: { FAIRLEAD_AUDIT_WITNESSES: policy, FAIRLEAD_AUDIT_WITNESS_SECONDS: '1' } };
  running = await startTestStack({ stateDir, demoNode: true, env });
  ({ stack } = running);
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  for (const witness of witnesses) await witness[Symbol.asyncDispose]();
});

const search = (...filter: string[]) => entriesFound(stack, ...filter);
const verify = () => verifiedLog(stack);
const soon = <T>(look: () => Promise<T>): Promise<T> => eventually(look, { timeoutMs: SEEN_WITHIN_MS });

const tokenFile = (name: string): string => join(stack.stateDir, `${name}.token`);
/** Makes an API token, which is an event, too. */
const newToken = (name: string, ...options: string[]): Promise<string> =>
  fairlead(stack, 'api-token', 'create', name, '--for', '1h', '--out', tokenFile(name), ...options);

describe('an auditor finds', () => {
  it('who let whom in', async () => {
    await newToken('colleague');
    const what = ['--token', 'colleague', '--role', 'view', '--cluster', 'demo', '--for', '1h', '--reason', 'looks'];
    await fairlead(stack, 'grant', 'create', ...what);
    const [found] = await soon(async () => {
      const entries = await search('--type', 'grant.created', '--since', '1h');
      expect(entries).toHaveLength(1);
      return entries;
    });
    expect(found).toMatchObject({ user: 'admin', source: 'access' });
  });

  it('who read and wrote what, through either replica', async () => {
    const { holder: owner, other } = await whoHoldsTheLink(stack);
    await kubectl(stack, owner, ['create', 'configmap', 'noted', '--from-literal=a=b']);
    await kubectl(stack, other, ['get', 'configmap', 'noted']);
    await soon(async () => {
      const found = await search('--cluster', 'demo', '--resource', 'configmaps');
      const said = found.map(({ action, decision, source, user }) => [action, decision, source, user]);
      expect(said).toContainEqual([expect.stringMatching(/^create configmaps/), 'allowed', owner, 'admin']);
      expect(said).toContainEqual([expect.stringMatching(/^get configmaps\/noted/), 'allowed', other, 'admin']);
    });
    expect(await search('--entry', 'gap')).toEqual([]);
  });

  it('who was turned away: by a gateway, and by the rights of the cluster beyond it', async () => {
    const colleague = await soon(() => logIn(stack, 'colleague', tokenFile('colleague')));
    const anywhere = ['--refused', 'anywhere', '--user', 'token:colleague', '--status', '403'];
    const refused = async (...args: string[]) => {
      const { code, stderr } = await colleague.kubectl('gateway-a', ...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/forbidden/i)]);
    };
    // `view` is a role of the cluster, which says what that may: a gateway lets it go on.
    await refused('create', 'serviceaccount', 'x');
    await refused('get', 'configmaps', '--as', 'corp:eve');
    await soon(async () => {
      const beyond = await search('--refused', 'beyond', '--user', 'token:colleague', '--resource', 'serviceaccounts');
      expect(beyond[0]).toMatchObject({ decision: 'allowed', body: { status: 403, cause: 'COMPLETE' } });
      const [found] = await search('--decision', 'refused', '--user', 'token:colleague');
      expect(found).toMatchObject({ body: { status: 403, as: 'corp:eve' } });
      const decisions = new Set((await search(...anywhere)).map(({ decision }) => decision));
      expect(decisions).toEqual(new Set(['allowed', 'refused']));
    });
    const [one] = await search(...anywhere, '--limit', '1');
    expect(await search('--id', String(one?.body['id']), '--address', '127.0.0.1')).toContainEqual(one);
    const older = await search(...anywhere, '--limit', '1', '--after', String(one?.number));
    expect(older[0]?.number).toBeLessThan(one?.number ?? 0);
  });

  it('who exec’ed into what, with the command', async () => {
    const { other } = await whoHoldsTheLink(stack);
    await kubectl(stack, other, ['exec', 'hello', '--', 'sh', '-c', 'exit 0']);
    await soon(async () => {
      const found = await search('--kind', 'exec', '--cluster', 'demo', '--since', '1h', '--status', '101');
      expect(found).toMatchObject([
        {
          user: 'admin',
          source: other,
          decision: 'allowed',
          action: 'exec pods/hello/exec -n default',
          body: {
            phase: 'outcome',
            stream: { command: ['sh', '-c', 'exit 0'] },
            session: expect.stringMatching(/^[0-9a-f-]{36}$/),
          },
        },
      ]);
      expect(
        (await search('--id', String(found[0]?.body['id']))).map(({ body }) => body['phase'] ?? body['type']),
      ).toEqual(expect.arrayContaining(['intent', 'outcome', 'dev.fairlead.stream.opened.v1']));
    });
  });

  it('all of it in a table, which says that it is whole', async () => {
    const rows = (await fairlead(stack, 'audit', 'export', '--format', 'csv')).trimEnd().split('\n');
    const [heading, ...entries] = rows;
    const trailer = entries.pop();
    expect(heading).toMatch(/^number,at,/);
    expect(entries.map((row) => Number(row.split(',')[0]))).toEqual(entries.map((_, at) => at + 1));
    expect(trailer).toBe(`complete,${entries.length},${entries.length}${','.repeat(16)}`);
  });
});

it('whoever has the role of an auditor finds, exports and verifies, and may do nothing else', async () => {
  await newToken('dana');
  const may = ['--token', 'dana', '--role', 'auditor', '--for', '1h', '--reason', 'the yearly audit'];
  await fairlead(stack, 'grant', 'create', ...may);
  const dana = await soon(() => commandOf(stack, 'dana', tokenFile('dana')));
  const say = (...args: string[]): Promise<string> => succeeds(dana.fairlead('audit', ...args));
  expect(await soon(() => say('search', '--kind', 'exec', '--cluster', 'demo'))).toContain(
    'exec pods/hello/exec -n default -- sh -c exit 0',
  );
  await say('export', '--out', join(dana.home, 'whole.ndjson'));
  expect(await say('verify', '--export', join(dana.home, 'whole.ndjson'))).toContain(
    'no number between these is missing',
  );
  for (const args of [
    ['cluster', 'delete', 'demo', '--yes'],
    ['grant', 'list'],
    ['audit', 'begin-anew', '--yes'],
  ]) {
    expect(await dana.fairlead(...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('for administrators') as string,
    });
  }
  expect(await dana.fairlead('kubeconfig', 'demo')).toMatchObject({ code: 1 });
});

describe('a subscriber', () => {
  const of = (name: string) => (event: ToldEvent) => event.data['name'] === name;
  const run = (subscriber: MadeSubscriber): RunningSubscriber =>
    runSubscriber(stack, subscriber, process.execPath, join(SUBSCRIBERS, 'typescript', 'subscriber.ts'));

  it('is told of its own tenant as it happens, again where it asks for it, and nothing by a key that counts no more', async () => {
    await fairlead(stack, 'tenant', 'create', 'acme');
    const acme = await makeSubscriber(stack, 'siem-of-acme', '*', '--tenant', 'acme');
    const siem = await makeSubscriber(stack, 'siem', 'api-token.*');
    await using first = run(siem);
    await newToken('told-1');
    await first.until(1, of('told-1'));
    await newToken('of-acme', '--tenant', 'acme');
    await using other = run(acme);
    await other.until(1, of('of-acme'));
    await fairlead(stack, 'subscriber', 'replay', 'siem', '--from', '1h');
    await first.until(2, of('told-1'));

    const rotated = { ...siem, seedFile: join(stack.stateDir, 'siem-2.nk') };
    await fairlead(stack, 'subscriber', 'rotate', 'siem', '--out', rotated.seedFile);
    // It is cut off, and comes again by a key that is none any more.
    await soon(async () => expect(first.complaints()).toMatch(/[Aa]uthorization/));
    await using second = run(rotated);
    await newToken('told-2');
    await second.until(1, of('told-2'));
    expect(first.told.filter(of('told-2'))).toEqual([]);
    expect(first.told.every(({ tenantid }) => tenantid === 'default')).toBe(true);
    expect(other.told.every(({ tenantid }) => tenantid === 'acme')).toBe(true);

    await fairlead(stack, 'subscriber', 'remove', 'siem', '--yes');
    expect(await fairlead(stack, 'subscriber', 'list', '-o', 'name')).not.toContain('siem');
  });
});

describe('the whole log', () => {
  it('verifies, and goes on from what was verified before', async () => {
    const first = await soon(async () => {
      const verified = await verify();
      expect(verified.verified).toBe(verified.size);
      return verified;
    });
    expect(first.origin).toMatch(/\/audit\/default$/);
    await kubectl(stack, 'gateway-a', ['get', 'pods']);
    await soon(async () => {
      const { goesOnFrom, size } = (await verify()) as Verified & { goesOnFrom: number };
      expect(goesOnFrom).toBeGreaterThanOrEqual(first.size);
      expect(size).toBeGreaterThan(first.size);
    });
  });

  it('verifies with a tool of other people, from its files alone; so does the proof of one entry', async () => {
    const folder = join(stack.stateDir, 'saved-log');
    await fairlead(stack, 'audit', 'save', '--bodies', folder);
    const { path: fsck } = await findBinary('tessera-fsck');
    const args = ['--storage_url', `file://${folder}`, '--public_key', `${folder}.key`, '--ui=false', '--N', '16'];
    const { stdout, stderr } = await promisify(execFile)(fsck, args, { timeout: FSCK_TIMEOUT_MS });
    expect(stdout + stderr).toContain("Successfully fsck'd log with size");
    expect(await fairlead(stack, 'audit', 'prove', '1')).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex 0\n/);
    const [, program = ''] = /^```python\n(.*?)^```$/ms.exec(await readFile(AUDIT_DOCUMENT, 'utf8')) ?? [];
    const checked = await promisify(execFile)('python3', ['-c', program, folder], { timeout: FSCK_TIMEOUT_MS });
    expect(checked.stdout).toMatch(
      /^(\d+) leaves are those of the checkpoint, and the bodies of 1 to \1 are what was logged$/m,
    );
  });

  it('has each line of an export, and not one that was changed; and all of one entry for an outsider', async () => {
    const [file, changed] = [join(stack.stateDir, 'whole.ndjson'), join(stack.stateDir, 'changed.ndjson')];
    const byKey = ['--key', join(stack.stateDir, 'saved-log.key')];
    await fairlead(stack, 'audit', 'export', '--out', file);
    await soon(async () => {
      const verified = await fairlead(stack, 'audit', 'verify', ...byKey, '--export', file, '--whole', '-o', 'json');
      const { key, exported, keyFrom } = JSON.parse(verified) as Exported;
      expect([keyFrom, key]).toEqual(['given', expect.stringContaining('/audit/default+')]);
      expect(exported).toMatchObject({ first: 1, missing: 0, unproven: 0, newer: 0, wrong: null });
    });
    const lines = (await readFile(file, 'utf8')).split('\n');
    await writeFile(
      changed,
      lines.map((line, at) => (at === 2 ? line.replace('"body":{', '"body":{"x":1,') : line)).join('\n'),
    );
    const refused = await stack.cli(['audit', 'verify', '--export', changed]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('entry 3 of ')]);
    await writeFile(
      changed,
      [...lines.slice(0, 5), JSON.stringify({ complete: true, count: 5, through: 6 }), ''].join('\n'),
    );
    const cut = await stack.cli(['audit', 'verify', '--export', changed, '--whole']);
    expect([cut.code, cut.stderr]).toEqual([1, expect.stringContaining('it has not 6, as the log has')]);
    const out = join(stack.stateDir, 'entry-1');
    await fairlead(stack, 'audit', 'prove', '1', '--out', out);
    const [nonce, body, leaf] = await Promise.all(['nonce', 'body', 'leaf'].map((name) => readFile(join(out, name))));
    const commitment = createHash('sha256').update(nonce!).update(body!).digest('base64');
    expect(JSON.parse(String(leaf))).toEqual({ v: 1, commitment });
    expect((await readdir(out)).toSorted()).toEqual(['body', 'leaf', 'log.key', 'nonce', 'proof']);
  });
});

const QUORUM = (): string[] => ['--quorum', '2', ...witnesses.flatMap(({ verifierKey }) => ['--witness', verifierKey])];
const checkpointsOf = (tenant: string): string => join(stack.stateDir, 'audit-checkpoints', tenant);

describe('witnesses', () => {
  it('that were told of the log cosign it, and the quorum is verified by their keys', async () => {
    const folder = join(stack.stateDir, 'log-for-witnesses');
    await fairlead(stack, 'audit', 'save', folder);
    const key = parseVerifierKey(await readFile(`${folder}.key`, 'utf8'));
    const early = await stack.cli(['audit', 'verify', '--wait', '0', ...QUORUM()]);
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('not cosigned by enough witnesses')]);
    knownLogs.set(key.name, [key]);
    const patience = { timeoutMs: ASKED_AGAIN_WITHIN_MS };
    await eventually(async () => {
      const verified = await fairlead(stack, 'audit', 'verify', ...QUORUM(), '-o', 'json');
      expect(JSON.parse(verified)).toMatchObject({
        cosignedBy: [expect.stringContaining('w1.test'), expect.anything()],
      });
    }, patience);
    const policy = join(stack.stateDir, 'witnesses.policy');
    expect(await fairlead(stack, 'audit', 'verify', '--policy', policy)).toContain('cosigned by w1.test at ');
    expect(await fairlead(stack, 'audit', 'witnesses')).toMatch(/^w1\.test +\d+ +\d+[smh] +\d+ +cosigned/m);
  });
});

describe('checkpoints outside the database', () => {
  it('are what the log goes on from', async () => {
    const files = await readdir(checkpointsOf('default'));
    const args = files.flatMap((file) => ['--checkpoints', join(checkpointsOf('default'), file)]);
    expect(files).toContain('last.json');
    const verified = await fairlead(stack, 'audit', 'verify', ...args, '-o', 'json');
    expect(JSON.parse(verified)).toMatchObject({ heldTo: { checkpoints: expect.any(Number), ofLost: 0 } });
  });
});

/** Runs statements with the rights of a service, on one connection. */
async function withRightsOf(service: Service, work: (query: Query) => Promise<unknown>): Promise<void> {
  const client = await connectAs(stack, service);
  try {
    await work(async (statement, values = []) => (await client.query(statement, [...values])).rows as unknown[]);
  } finally {
    await client.end();
  }
}

describe('a log of which the database was restored to an older point', () => {
  const inShop = (...args: string[]) => fairlead(stack, '--tenant', 'shop', ...args);
  const grow = (name: string): Promise<string> => newToken(name, '--tenant', 'shop');
  const sizeOf = async (): Promise<number> =>
    soon(async () => (JSON.parse(await inShop('audit', 'verify', '-o', 'json')) as Verified).size);
  const grownTo = (size: number) => soon(async () => expect(await sizeOf()).toBeGreaterThanOrEqual(size));

  it('gets no checkpoint, begins anew at an administrator’s word, and verify says what is between', async () => {
    await fairlead(stack, 'tenant', 'create', 'shop');
    await grow('first');
    const size = await sizeOf();
    await withRightsOf('audit', (query) => backUpLog(query, 'shop'));
    await grow('second');
    await grow('third');
    await grownTo(size + 2);
    expect(await stack.cli(['--tenant', 'shop', 'audit', 'begin-anew', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no reason to begin anew') as string,
    });
    await withRightsOf('audit', (query) => restoreLog(query, 'shop'));
    const broken = await stack.cli(['--tenant', 'shop', 'audit', 'verify']);
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('tampered with, or damaged')]);
    expect(await inShop('audit', 'begin-anew', '--yes')).toMatch(/the log \S+\/audit\/shop\/2 has begun/);
    const files = ['--checkpoints', join(checkpointsOf('shop'), 'last.json')];
    const said = await inShop('audit', 'verify', ...files);
    expect(said).toMatch(/it goes on from the \d+ of the last time, of which up to [1-9]\d* are gone/);
    expect(said).toMatch(/it began anew: \d+ entries of \S+\/audit\/shop were signed, .* up to [1-9]\d* are gone/);
    await grow('fourth');
    await grownTo(size + 2);
  });
});

describe('by SQL', () => {
  let held: Client;
  const sql = (statement: string) => queryDatabase(stack, 'audit', statement);

  beforeAll(async () => {
    // Whatever comes meanwhile waits: it would be joined to what is damaged.
    held = await connectAs(stack, 'audit');
    await held.query('begin');
    await held.query('lock table tenant_logs in share mode');
    await sql('create table kept_tiles as select * from audit_tiles');
    await sql('create table kept_entries as select * from entries');
  });
  afterAll(() => held?.end());

  it.each(DAMAGES)('$what: it is found, and the first bad entry is named', async ({ sql: statements, named }) => {
    expect((await verify()).size).toBeGreaterThan(5);
    for (const statement of statements) await sql(statement);
    const { code, stderr } = await stack.cli(['audit', 'verify']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(named)]);
    expect(stderr).toContain('tampered with, or damaged');
    await sql('truncate audit_tiles, entries');
    await sql('insert into audit_tiles select * from kept_tiles');
    await sql('insert into entries select * from kept_entries');
  });

  it('the whole log is rewritten, and the key of the log signs it: the checkpoints kept elsewhere find it, and no quorum is reached', async () => {
    const kept = join(stack.stateDir, 'kept.json');
    await writeFile(kept, await readFile(join(checkpointsOf('default'), 'last.json')));
    // Whoever does this has the machine of `keys`, too.
    await rm(checkpointsOf('default'), { recursive: true });
    await withRightsOf('audit', (query) => rewriteLog(query, 'default'));
    await withRightsOf('keys', (query) => query(FORGET_SIGNED, ['default']));
    await held.query('commit');
    await kubectl(stack, 'gateway-a', ['get', 'pods']);
    const patience = { timeoutMs: ASKED_AGAIN_WITHIN_MS };
    await eventually(async () => {
      // Who has seen nothing before, and asks no witness, sees nothing.
      const { size } = JSON.parse(await fairlead(stack, 'audit', 'verify', '--anew', '-o', 'json')) as Verified;
      expect(size).toBeGreaterThan(5);
      const { code, stderr } = await stack.cli(['audit', 'verify', '--anew', '--wait', '5', ...QUORUM()]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/was rewritten|not cosigned/)]);
      expect(stderr).toMatch(/not cosigned by enough witnesses.*w1\.test: refused, .*rewritten, or is a fork/);
    }, patience);
    const byFile = await stack.cli(['audit', 'verify', '--anew', '--checkpoints', kept]);
    expect([byFile.code, byFile.stderr]).toEqual([1, expect.stringMatching(/entry \d+: .*rewritten/)]);
    const refused = JSON.parse(await fairlead(stack, 'audit', 'witnesses', '-o', 'json')) as { witnesses: unknown[] };
    expect(refused.witnesses).toMatchObject([{ state: 'refused' }, { state: 'refused' }]);
  });
});
