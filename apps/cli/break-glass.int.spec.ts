import { readFile, stat } from 'node:fs/promises';
import { userOf } from '@fairlead/api/testing';
import { beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();
let file: string;

beforeEach(async () => {
  file = scene.scratch.file('break-glass.kubeconfig');
  scene.api.script.statementsAsked.length = 0;
  for (const name of ['demo', 'prod']) await scene.fairlead(['cluster', 'create', name]);
});

const made = (...args: string[]) => scene.fairlead(['kubeconfig', ...args, '--break-glass', '--output', file]);

it('has the token of the administrator in it and a statement for each cluster, and is for its owner alone', async () => {
  const { status, out, err } = await made('--all', '--for', '7d');
  expect([status, err]).toEqual([0, '']);
  expect(out).toMatch(/: for 2 clusters, until \d{4}-/);
  expect(out).not.toContain(scene.api.script.token);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const text = await readFile(file, 'utf8');
  expect(text).toMatch(/^# .*\n# \d{4}-\d\d-\d\dT.* Whoever has this file is the administrator\./);
  const statement = (number: number): string => Buffer.from(`signed ${number}`).toString('base64url');
  expect(parse(text)).toMatchObject({
    clusters: [{ name: 'demo@gateway-a' }, {}, { name: 'prod@gateway-a' }, {}],
    contexts: [
      { name: 'demo', context: { cluster: 'demo@gateway-a', user: 'break-glass@demo' } },
      {},
      { name: 'demo@gateway-b' },
      { name: 'prod', context: { cluster: 'prod@gateway-a', user: 'break-glass@prod' } },
      {},
      {},
    ],
    users: [
      { name: 'break-glass@demo', user: { token: `${scene.api.script.token}~${statement(1)}` } },
      { name: 'break-glass@prod', user: { token: `${scene.api.script.token}~${statement(2)}` } },
    ],
  });
  expect(parse(text)).not.toHaveProperty('current-context');
  const seconds = 7 * 86_400;
  expect(scene.api.script.statementsAsked).toEqual([
    { cluster: 'demo', seconds },
    { cluster: 'prod', seconds },
  ]);
});

it('counts for eight hours unless it is said, and of one cluster is used at once', async () => {
  expect(await made('demo')).toMatchObject({ status: 0 });
  expect(scene.api.script.statementsAsked).toEqual([{ cluster: 'demo', seconds: 8 * 3_600 }]);
  expect(parse(await readFile(file, 'utf8'))).toMatchObject({ 'current-context': 'demo' });
});

it('is for nobody else, whom no door would let in then', async () => {
  const token = 'a-token-of-a-program-of-some-length';
  scene.api.script.users.set(token, userOf('token:ci', { administrator: true }));
  const { url } = scene.api;
  await scene.fairlead(['login', '--server', url, '--ca-file', scene.caFile], { stdin: token });
  const { status, err } = await made('demo');
  expect(status).toBe(1);
  expect(err).toContain("--break-glass is for the administrator's token, and you are token:ci");
  expect(scene.api.script.statementsAsked).toEqual([]);
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
});

it.each([
  ['without a file', ['demo', '--break-glass']],
  ['into a kubeconfig with other entries', ['demo', '--break-glass', '--merge', '--output', 'x']],
  ['for longer than a statement may', ['demo', '--break-glass', '--for', '91d', '--output', 'x']],
  ['for no time', ['demo', '--break-glass', '--for', '59s', '--output', 'x']],
  ['for a kubeconfig that has no end', ['demo', '--for', '8h']],
])('is not made %s', async (_, args) => {
  expect(await scene.fairlead(['kubeconfig', ...args])).toMatchObject({ status: 2, out: '' });
});
