import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Stack } from '@fairlead/stack';
import { findBinary } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { connectAs, queryDatabase } from '../support/service-database.js';
import {
  SAMPLES,
  makeSubscriber,
  runSample,
  type MadeSubscriber,
  type RunningSample,
  type ToldEvent,
} from '../support/subscriber-sample.js';
import { kubectl, startTestStack, whoHoldsTheLink, type TestStack } from '../support/test-stack.js';

/** From a door by spool, stream and ingest to an entry; and until a checkpoint is of it. */
const SEEN_WITHIN_MS = 30_000;
const FSCK_TIMEOUT_MS = 60_000;

let running: TestStack;
let stack: Stack;

beforeAll(async () => {
  running = await startTestStack({ demoNode: true });
  ({ stack } = running);
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

interface Entry {
  readonly number: number;
  readonly user: string;
  readonly action: string;
  readonly decision: string;
  readonly source: string;
}

async function search(...filter: string[]): Promise<Entry[]> {
  const answer = await fairlead(stack, 'audit', 'search', ...filter, '-o', 'json');
  return (JSON.parse(answer) as { entries: Entry[] }).entries;
}

const soon = <T>(look: () => Promise<T>): Promise<T> => eventually(look, { timeoutMs: SEEN_WITHIN_MS });

describe('an auditor finds', () => {
  it('who let whom in', async () => {
    await fairlead(stack, 'api-token', 'create', 'colleague', '--for', '1h', '--out', join(stack.stateDir, 'c.token'));
    const what = ['--token', 'colleague', '--role', 'view', '--cluster', 'demo', '--for', '1h', '--reason', 'looks'];
    await fairlead(stack, 'grant', 'create', ...what);
    const [found] = await soon(async () => {
      const entries = await search('--type', 'grant.created', '--since', '1h');
      expect(entries).toHaveLength(1);
      return entries;
    });
    expect(found).toMatchObject({ user: 'admin', source: 'access' });
  });

  it('who read and wrote what, through either replica, and what was refused', async () => {
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
});

describe('a subscriber', () => {
  const newToken = (name: string, ...tenant: string[]): Promise<string> =>
    fairlead(
      stack,
      ...tenant,
      'api-token',
      'create',
      name,
      '--for',
      '1h',
      '--out',
      join(stack.stateDir, `${name}.token`),
    );
  const of = (name: string) => (event: ToldEvent) => event.data['name'] === name;
  const run = (subscriber: MadeSubscriber): RunningSample =>
    runSample(stack, subscriber, process.execPath, join(SAMPLES, 'typescript', 'subscriber.ts'));

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

interface Verified {
  readonly origin: string;
  readonly size: number;
  readonly verified: number;
}

async function verify(): Promise<Verified> {
  return JSON.parse(await fairlead(stack, 'audit', 'verify', '-o', 'json')) as Verified;
}

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
    await fairlead(stack, 'audit', 'save', folder);
    const { path: fsck } = await findBinary('tessera-fsck');
    const args = ['--storage_url', `file://${folder}`, '--public_key', `${folder}.key`, '--ui=false', '--N', '16'];
    const { stdout, stderr } = await promisify(execFile)(fsck, args, { timeout: FSCK_TIMEOUT_MS });
    expect(stdout + stderr).toContain("Successfully fsck'd log with size");
    expect(await fairlead(stack, 'audit', 'prove', '1')).toMatch(/^c2sp\.org\/tlog-proof@v1\nindex 0\n/);
  });
});

/** Something that whoever has the rights of the audit service may do, and how it is undone. */
interface Damage {
  readonly what: string;
  readonly sql: readonly string[];
  readonly named: RegExp;
}

const OF_LOG = `tenant_id = 'default' and incarnation = 1`;
/** Leaves are of one length: so the third one of the first bundle begins at this byte, after its own two bytes of length. */
const LEAF_BYTES = 2 + '{"v":1,"commitment":""}'.length + 44;
const leafAt = (number: number): string => `substring(bytes from ${(number - 1) * LEAF_BYTES + 1} for ${LEAF_BYTES})`;

const DAMAGES: readonly Damage[] = [
  {
    what: 'the body of an entry is edited',
    sql: [`update entries set body = body || ' ' where tenant_id = 'default' and number = 3`],
    named: /entry 3 is not what was logged/,
  },
  {
    what: 'an entry is deleted',
    sql: [`delete from entries where tenant_id = 'default' and number = 3`],
    named: /entry 3 is not there/,
  },
  {
    what: 'an entry is deleted with its leaf',
    sql: [
      `delete from entries where tenant_id = 'default' and number = 3`,
      `update audit_tiles set bytes = overlay(bytes placing '\\x' from ${2 * LEAF_BYTES + 1} for ${LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'two leaves change places',
    sql: [
      `update audit_tiles set bytes = overlay(overlay(bytes placing ${leafAt(3)} from ${3 * LEAF_BYTES + 1} for ${LEAF_BYTES})
         placing ${leafAt(4)} from ${2 * LEAF_BYTES + 1} for ${LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'a hash is changed',
    sql: [
      `update audit_tiles set bytes = overlay(bytes placing '\\x00' from 65) where ${OF_LOG} and kind = 0 and index = 0`,
    ],
    named: /entry 3: /,
  },
  {
    what: 'the end is cut off',
    sql: [
      `update audit_tiles set bytes = substring(bytes for ${5 * LEAF_BYTES}) where ${OF_LOG} and kind = -1 and index = 0`,
    ],
    named: /entry 6: /,
  },
];

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
});
