import type { OpenPassage } from '@fairlead/contracts';
import { beforeEach, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();

const passage = (change: Partial<OpenPassage>): OpenPassage => ({
  id: crypto.randomUUID(),
  kind: 'exec',
  gateway: 'gateway-a',
  owner: 'gateway-b',
  clusterId: crypto.randomUUID(),
  cluster: 'prod',
  user: 'corp:alice',
  as: null,
  address: '10.0.0.7',
  since: new Date(Date.now() - 90_000).toISOString(),
  bytesUp: 10,
  bytesDown: 20,
  target: 'create pods/exec in the namespace "shop": cart-0',
  ...change,
});

beforeEach(() => {
  const { script } = scene.api;
  script.passages.length = 0;
  script.silentGateways.length = 0;
  script.passagesEnded.length = 0;
});

it('shows who is where, by what is asked for', async () => {
  const { script } = scene.api;
  const none = await scene.fairlead(['session', 'list'], { terminal: true });
  expect(none.err).toContain('nothing goes through the doors now');
  const [exec, watch] = [passage({}), passage({ kind: 'watch', user: 'corp:bob', as: 'carol', cluster: 'demo' })];
  script.passages.push(exec, watch);
  const { out } = await scene.fairlead(['session', 'list']);
  expect(out).toMatch(/^ID +KIND +USER +CLUSTER +WHAT +FROM +GATEWAY +AGE\n/);
  expect(out).toMatch(
    /exec +corp:alice +prod +create pods\/exec in the namespace "shop": cart-0 +10\.0\.0\.7 +gateway-a/,
  );
  expect(out).toContain('corp:bob as carol');
  expect((await scene.fairlead(['session', 'list', '--cluster', 'demo', '-o', 'name'])).out).toBe(`${watch.id}\n`);
  expect((await scene.fairlead(['session', 'list', '--kind', 'exec', '-o', 'name'])).out).toBe(`${exec.id}\n`);
  expect(JSON.parse((await scene.fairlead(['session', 'list', '-o', 'json'])).out)).toMatchObject({
    sessions: [exec, watch],
    silent: [],
  });
});

it('shows all pages, and of very many the oldest, with how many there are besides', async () => {
  const { script } = scene.api;
  const all = Array.from({ length: 25 }, () => passage({}));
  script.passages.push(...all);
  const list = async (pageSize: number) => {
    script.pageSize = pageSize;
    const shown = await scene.fairlead(['session', 'list', '-o', 'json']);
    script.pageSize = 100;
    const { sessions, more } = JSON.parse(shown.out) as { sessions: { id: string }[]; more: number };
    return { ids: sessions.map(({ id }) => id), more, err: shown.err };
  };
  const ids = all.map(({ id }) => id);
  expect(await list(10)).toEqual({ ids, more: 0, err: '' });
  const cut = await list(1);
  expect([cut.ids, cut.more]).toEqual([ids.slice(0, 20), 5]);
  expect(cut.err).toContain('5 more are not shown: name a cluster, a user or a kind');
});

it('says which gateways did not answer', async () => {
  scene.api.script.silentGateways.push('gateway-b');
  for (const args of [['list'], ['end', '--user', 'corp:alice', '--yes']]) {
    const { status, err } = await scene.fairlead(['session', ...args]);
    expect([status, err]).toEqual([0, expect.stringContaining('no answer from gateway-b')]);
  }
});

it('ends what is meant, says why, and asks before', async () => {
  const { script } = scene.api;
  const [one, other] = [passage({}), passage({})];
  script.passages.push(one, other);
  expect(await scene.fairlead(['session', 'end', one.id])).toMatchObject({ status: 2 });
  const why = ['--reason', 'the incident is over'];
  const ended = await scene.fairlead(['session', 'end', one.id, '--yes', ...why], { terminal: true });
  expect(ended).toMatchObject({ status: 0, out: '1 ended\n', err: expect.stringContaining('begin again') as string });
  expect(script.passages).toEqual([other]);
  expect(script.passagesEnded).toEqual([{ id: one.id, reason: 'the incident is over', by: script.principal.user }]);
  expect((await scene.fairlead(['session', 'end', one.id, '--yes'])).err).toContain('there is no such session');
  expect(await scene.fairlead(['session', 'end', '--yes'])).toMatchObject({ status: 2 });
});
