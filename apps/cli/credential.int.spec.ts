import { existsSync } from 'node:fs';
import { readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FairleadError } from '@fairlead/errors';
import { beforeEach, expect, it } from 'vitest';
import type { CliRunOptions } from './testing/cli-runner.js';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();

beforeEach(async () => {
  const { script } = scene.api;
  script.statementsAsked.length = 0;
  script.statementFailure = undefined;
  script.statementSeconds = 1_800;
  await scene.fairlead(['cluster', 'create', 'demo']);
});

const HOUR_MS = 3_600_000;

interface Given {
  readonly secret: string;
  /** What the script said that it signed. */
  readonly statement: string | undefined;
  readonly forMs: number;
  readonly err: string;
}

async function credential({ cluster = 'demo', ...options }: CliRunOptions & { cluster?: string } = {}): Promise<Given> {
  const now = options.now ?? (() => new Date());
  const { status, out, err } = await scene.fairlead(['credential', '--cluster', cluster], options);
  expect([status, err]).toEqual([0, err]);
  const { token, expirationTimestamp } = (JSON.parse(out) as { status: Record<string, string> }).status;
  const [secret = '', envelope] = (token ?? '').split('~');
  const statement = envelope === undefined ? undefined : Buffer.from(envelope, 'base64url').toString();
  return { secret, statement, forMs: Date.parse(expirationTimestamp ?? '') - now().getTime(), err };
}

const later = (ms: number) => () => new Date(Date.now() + ms);

it('puts a statement behind the token, which it keeps for a minute', async () => {
  const { script } = scene.api;
  expect(await credential()).toMatchObject({ secret: script.token, statement: 'signed 1', err: '' });
  expect((await credential()).statement).toBe('signed 1');
  expect((await credential({ now: later(61_000) })).statement).toBe('signed 2');
  expect(script.statementsAsked.map(({ cluster }) => cluster)).toEqual(['demo', 'demo']);
});

it('fetches another one for the process that was told the last one: a door has refused that', async () => {
  expect((await credential({ parentPid: 7 })).statement).toBe('signed 1');
  expect((await credential({ parentPid: 7 })).statement).toBe('signed 2');
  expect((await credential({ parentPid: 8 })).statement).toBe('signed 2');
});

it('has one for each cluster, and for each login', async () => {
  await scene.fairlead(['cluster', 'create', 'other']);
  expect((await credential()).statement).toBe('signed 1');
  expect((await credential({ cluster: 'other' })).statement).toBe('signed 2');
  expect((await credential()).statement).toBe('signed 1');
  const { api, caFile, fairlead } = scene;
  api.script.users.set('another-token-of-some-length', api.script.principal);
  await fairlead(['login', '--server', api.url, '--ca-file', caFile], { stdin: 'another-token-of-some-length' });
  expect(await credential()).toMatchObject({ secret: 'another-token-of-some-length', statement: 'signed 3' });
});

it('lets kubectl keep it no longer than it is good', async () => {
  expect((await credential()).forMs).toBeGreaterThan(50_000);
  scene.api.script.statementSeconds = 20;
  const { forMs } = await credential({ parentPid: 7 });
  expect(forMs).toBeGreaterThan(50_000);
  expect((await credential({ parentPid: 7 })).forMs).toBeLessThanOrEqual(20_000);
});

it('goes on with it until its end while the server is away, which is asked again after half a minute', async () => {
  const { script } = scene.api;
  await credential();
  script.statementFailure = new FairleadError('UNAVAILABLE', 'keys is away');
  const during = await credential({ now: later(61_000) });
  expect(during).toMatchObject({
    statement: 'signed 1',
    err: expect.stringMatching(/good until .*: keys is away/) as string,
  });
  expect(script.statementsAsked).toHaveLength(2);
  expect(await credential({ now: later(62_000), parentPid: 7 })).toMatchObject({ statement: 'signed 1', err: '' });
  expect(script.statementsAsked).toHaveLength(2);
  script.statementFailure = undefined;
  expect((await credential({ now: later(92_000) })).statement).toBe('signed 3');
  script.statementFailure = new FairleadError('UNAVAILABLE', 'keys is away');
  expect((await credential({ now: later(HOUR_MS) })).statement).toBeUndefined();
});

it.each([
  ['NOT_FOUND', 'there is no cluster named demo', ''],
  ['FORBIDDEN', 'it is locked down', ''],
  ['TOO_LARGE', 'more than a statement can say', 'without an access statement: more than a statement can say'],
] as const)('goes without one after %s: the door says what that means', async (code, message, said) => {
  scene.api.script.statementFailure = new FairleadError(code, message);
  const given = await credential();
  expect(given).toMatchObject({ secret: scene.api.script.token, statement: undefined });
  expect(given.err).toContain(said);
  await credential();
  expect(scene.api.script.statementsAsked).toHaveLength(1);
});

it('fails where the token is refused', async () => {
  scene.api.script.statementFailure = new FairleadError('UNAUTHENTICATED', 'the token is not known');
  const { status, err } = await scene.fairlead(['credential', '--cluster', 'demo']);
  expect([status, err]).toEqual([1, expect.stringContaining('fairlead login')]);
});

it('keeps them for their owner only, without the token, until the logout', async () => {
  await credential();
  const folder = join(scene.home, 'statements');
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  for (const name of await readdir(folder)) {
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, name), 'utf8')).not.toContain(scene.api.script.token);
  }
  await scene.fairlead(['logout']);
  expect(existsSync(folder)).toBe(false);
});

it('does without what it cannot read', async () => {
  await credential();
  const folder = join(scene.home, 'statements');

  for (const name of await readdir(folder)) await writeFile(join(folder, name), '{');
  expect((await credential({ now: later(62_000) })).statement).toBe('signed 2');
});

it('keeps no more than a thousand files, and the newest of them', async () => {
  await credential();
  const folder = join(scene.home, 'statements');
  const long = new Date(Date.now() - HOUR_MS);
  await Promise.all(
    Array.from({ length: 1_005 }, async (_, index) => {
      await writeFile(join(folder, `${index}`), '');
      await utimes(join(folder, `${index}`), long, long);
    }),
  );
  expect((await credential({ now: later(61_000) })).statement).toBe('signed 2');
  expect(await readdir(folder)).toHaveLength(1_000);
  expect((await credential({ now: later(62_000) })).statement).toBe('signed 2');
});
