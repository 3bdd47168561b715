import 'reflect-metadata';
import {
  DEFAULT_TENANT,
  gitopsRpc,
  type Assignment,
  type CatalogRepository,
  type ClusterGitOps,
  type RotatedDeployKey,
} from '@fairlead/contracts';
import { Envelope } from '@fairlead/events';
import { eventually as poll } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { actor, gitopsFixture, type GitopsFixture } from './testing/gitops-fixture.js';
import { ScriptedInstaller } from './testing/installer.js';
import { newPublicKey } from './testing/public-key.js';

const PATIENCE = { timeoutMs: 60_000 };
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, PATIENCE);
const DAY_MS = 86_400_000;
const DAY_SECONDS = 86_400;
/** As there is between two looks at the schedule; less than a cluster may be silent. */
const LOOK_MS = 30_000;
/** So few tries that time does not go on by an hour, though it does by `LOOK_MS` in each: a rotation that is older makes room for another. */
const withinTheHour = (attempt: () => Promise<void>): Promise<void> => poll(attempt, { ...PATIENCE, intervalMs: 600 });

let gitops: GitopsFixture;
let running: AsyncDisposable;
let count = 0;

beforeAll(async () => {
  gitops = await gitopsFixture();
  running = await gitops.start();
  // Time goes ahead of the real one, by which signatures end: otherwise all would be signed again with each turn.
  gitops.keys.signatureLifeMs = 3_650 * DAY_MS;
  await gitops.uploadBundle('v1');
  await gitops.keys.approve(newPublicKey());
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await gitops?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  gitops.keys.keyState = 'present';
  gitops.keys.away = false;
  gitops.keys.keysByHand = false;
});

interface Cluster {
  readonly id: string;
  readonly name: string;
  readonly installer: ScriptedInstaller;
}

const addRepository = (name: string, rotateKeysEverySeconds?: number | null): Promise<CatalogRepository> =>
  gitops.asApi.call(gitopsRpc.addRepository, DEFAULT_TENANT, {
    name,
    gitHost: 'gitea',
    path: `platform/${name}`,
    ...(rotateKeysEverySeconds === undefined ? {} : { rotateKeysEverySeconds }),
    actor,
  });

const status = (name: string): Promise<ClusterGitOps> =>
  gitops.asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name });

const rotate = (name: string, reason: 'demand' | 'compromise'): Promise<RotatedDeployKey> =>
  gitops.asApi.call(gitopsRpc.rotateDeployKey, DEFAULT_TENANT, { name, reason, actor });

const at = { soakSeconds: 0, waves: [], timeoutSeconds: 900, maxFailed: 0, onFailure: 'pause' as const };
const assign = (name: string, repository: string, rest: Partial<Assignment> = {}): Promise<Assignment> =>
  gitops.assign({ name, selector: { cluster: name }, repository, rollout: at, ...rest });

/** One that follows the repository with a key that works, and that no rollout is about any more. */
async function follower(repository: string, rest: Partial<Assignment> = {}, copyOf?: Cluster): Promise<Cluster> {
  count += 1;
  const name = `cluster-${count}`;
  const id = await gitops.addCluster(name);
  await eventually(() => status(name));
  await assign(name, repository, rest);
  const installer = new ScriptedInstaller(gitops, id);
  if (copyOf) installer.restoreFrom(copyOf.installer);
  await eventually(async () => {
    await installer.report();
    expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true);
    const { rollouts } = await gitops.asApi.call(gitopsRpc.listRollouts, DEFAULT_TENANT, {});
    expect(rollouts.find(({ assignment }) => assignment === name)?.state).toBe('done');
  });
  return { id, name, installer };
}

/** What an installer says that tries the next key as soon as the Git host has it. */
async function tryKeys({ id, installer }: Cluster): Promise<void> {
  const wanted = (await gitops.stateOf(id))?.gitops?.deployKey;
  installer.works = (number) => (number === wanted?.current || wanted?.nextReady ? true : null);
  await installer.report();
}

/** So much later, with all that is there heard of then. */
async function later(ms: number, clusters: readonly Cluster[]): Promise<void> {
  gitops.aheadMs += ms;
  for (const { installer } of clusters) await installer.report();
}

const rotating = async (clusters: readonly Cluster[]): Promise<string[]> => {
  const states = await Promise.all(clusters.map(({ name }) => status(name)));
  return states.filter(({ deployKey }) => deployKey?.rotating === 'schedule').map(({ name }) => name);
};

const keyNumbers = ({ id }: Cluster): number[] =>
  [...gitops.keys.deployKeys.values()].filter(({ clusterId }) => clusterId === id).map(({ number }) => number);

async function rotations({ id }: Cluster): Promise<unknown[]> {
  const rows = (await gitops.database.query('select body from outbox order by id')) as { body: string }[];
  return rows
    .map(({ body }) => Envelope.parse(JSON.parse(body)))
    .filter(({ type, data }) => type === 'dev.fairlead.deploy-key.rotated.v1' && data['clusterId'] === id)
    .map(({ data }) => [data['number'], data['step'], data['why']]);
}

describe('a repository', () => {
  it('has keys replaced every 90 days, where that needs nobody; and as somebody says', async () => {
    expect(await addRepository('usual')).toMatchObject({ rotateKeysEverySeconds: 90 * DAY_SECONDS });
    expect(await addRepository('usual', 30 * DAY_SECONDS)).toMatchObject({ rotateKeysEverySeconds: 30 * DAY_SECONDS });
    expect(await addRepository('usual')).toMatchObject({ rotateKeysEverySeconds: 30 * DAY_SECONDS });
    expect(await addRepository('usual', null)).toMatchObject({ rotateKeysEverySeconds: null });
    gitops.keys.keysByHand = true;
    expect(await addRepository('by-hand')).toMatchObject({ rotateKeysEverySeconds: null });
    expect(await addRepository('by-hand', DAY_SECONDS)).toMatchObject({ rotateKeysEverySeconds: DAY_SECONDS });
    await expect(addRepository('often', 3_600)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('a schedule', () => {
  it('replaces keys whose time is over, in a few clusters at once, and none where something stands in the way', async () => {
    await addRepository('scheduled');
    const clusters: Cluster[] = [];
    for (let index = 0; index < 7; index += 1) clusters.push(await follower('scheduled'));
    const frozen = await follower('scheduled', { suspend: true });
    const all = [...clusters, frozen];
    const { deployKey } = await status(clusters[0]!.name);
    expect(deployKey).toMatchObject({ repository: 'scheduled', number: 1, rotating: null, withdrawing: [] });
    const days = (Date.parse(deployKey!.nextRotationAt!) - Date.parse(deployKey!.since!)) / DAY_MS;
    expect(days).toBeGreaterThanOrEqual(81);
    expect(days).toBeLessThanOrEqual(90);
    await later(80 * DAY_MS, all);
    // Until the next key is tried.
    for (const { installer } of clusters) installer.works = (number) => (number === 1 ? true : null);
    await later(11 * DAY_MS, all);
    await withinTheHour(async () => {
      await later(LOOK_MS, all);
      expect(await rotating(all)).toHaveLength(5);
    });
    const [first] = await rotating(all);
    const one = clusters.find(({ name }) => name === first)!;
    expect(await rotations(one)).toEqual([[2, 'begun', 'schedule']]);
    await eventually(async () => {
      await tryKeys(one);
      expect((await status(one.name)).deployKey).toMatchObject({ number: 2, rotating: null, withdrawing: [] });
    });
    expect(await rotations(one)).toEqual([
      [2, 'begun', 'schedule'],
      [2, 'switched', 'schedule'],
    ]);
    // There is room for one more, and for one only.
    await withinTheHour(async () => {
      await later(LOOK_MS, all);
      expect(await rotating(all)).toHaveLength(5);
    });
    await eventually(async () => {
      await later(LOOK_MS, [frozen]);
      for (const cluster of clusters) await tryKeys(cluster);
      const numbers = await Promise.all(clusters.map(async ({ name }) => (await status(name)).deployKey?.number));
      expect(numbers).toEqual(clusters.map(() => 2));
    });
    expect(await rotations(frozen)).toEqual([]);
    await assign(frozen.name, 'scheduled');
    await eventually(async () => {
      gitops.aheadMs += LOOK_MS;
      await tryKeys(frozen);
      expect((await status(frozen.name)).deployKey?.number).toBe(2);
    });
  });

  it('is none where it was switched off', async () => {
    await addRepository('never', null);
    await addRepository('always');
    const [off, on] = [await follower('never'), await follower('always')];
    expect((await status(off.name)).deployKey).toMatchObject({ number: 1, nextRotationAt: null });
    await later(100 * DAY_MS, [off, on]);
    await eventually(async () => {
      await later(LOOK_MS, [off, on]);
      expect(await rotations(on)).not.toEqual([]);
    });
    expect(await rotations(off)).toEqual([]);
  });
});

describe('after a compromise', () => {
  it('the key leaves the Git host before there is another one, and nothing is fetched until then', async () => {
    await addRepository('leaked', null);
    const cluster = await follower('leaked');
    const before = await gitops.stateOf(cluster.id);
    await rotate(cluster.name, 'compromise');
    // Its installer has said nothing since.
    await eventually(() => expect(keyNumbers(cluster)).toEqual([]));
    await eventually(async () => {
      const held = await gitops.stateOf(cluster.id);
      expect(held?.gitops).toMatchObject({ suspend: true, deployKey: { current: 2, currentReady: true, next: null } });
      expect(held?.gitops?.source).toEqual(before?.gitops?.source);
    });
    expect(await status(cluster.name)).toMatchObject({
      waitsFor: expect.stringContaining('compromised') as string,
      deployKey: { number: 2, since: null, rotating: 'compromise', withdrawing: [] },
    });
    gitops.keys.keyState = 'wanted';
    await cluster.installer.report();
    await eventually(() => expect(keyNumbers(cluster)).toEqual([2]));
    expect((await gitops.stateOf(cluster.id))?.gitops?.suspend).toBe(true);
    gitops.keys.keyState = 'present';
    await eventually(async () => {
      expect((await gitops.stateOf(cluster.id))?.gitops).toMatchObject({ suspend: false, deployKey: { current: 2 } });
    });
    await cluster.installer.report();
    expect(await status(cluster.name)).toMatchObject({ waitsFor: null, deployKey: { number: 2, rotating: null } });
    expect(await rotations(cluster)).toEqual([
      [2, 'begun', 'compromise'],
      [2, 'switched', 'compromise'],
    ]);
  });

  it('a rotation that was under way is over, and no key of it stays; the same again costs nothing', async () => {
    await addRepository('under-way', null);
    const cluster = await follower('under-way');
    cluster.installer.works = (number) => (number === 1 ? true : null);
    await rotate(cluster.name, 'demand');
    await eventually(async () => {
      await cluster.installer.report();
      expect(keyNumbers(cluster)).toEqual([1, 2]);
    });
    await expect(rotate(cluster.name, 'demand')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await rotate(cluster.name, 'compromise')).deployKey).toMatchObject({ number: 3 });
    expect((await rotate(cluster.name, 'compromise')).deployKey).toMatchObject({ number: 3 });
    await eventually(() => expect(keyNumbers(cluster)).toEqual([]));
    cluster.installer.works = () => true;
    await eventually(async () => {
      await cluster.installer.report();
      expect(keyNumbers(cluster)).toEqual([3]);
      expect((await gitops.stateOf(cluster.id))?.gitops?.suspend).toBe(false);
    });
  });

  it('what cannot be withdrawn now is shown, and withdrawn later', async () => {
    await addRepository('away', null);
    const cluster = await follower('away');
    gitops.keys.away = true;
    await rotate(cluster.name, 'compromise');
    expect((await status(cluster.name)).deployKey).toMatchObject({
      number: 2,
      withdrawing: [1],
      withdrawingFrom: ['away'],
    });
    gitops.keys.away = false;
    await eventually(() => expect(keyNumbers(cluster)).toEqual([]));
    await eventually(async () => expect((await status(cluster.name)).deployKey?.withdrawing).toEqual([]));
  });

  it('a cluster that follows nothing any more has no key left, whatever it has heard of, and gets no other', async () => {
    await addRepository('taken-over', null);
    const cluster = await follower('taken-over');
    const { name } = cluster;
    await gitops.asApi.call(gitopsRpc.removeAssignment, DEFAULT_TENANT, { name, remove: 'keep', actor });
    await eventually(async () => expect((await status(name)).deployKey).toMatchObject({ repository: null }));
    expect(keyNumbers(cluster)).toEqual([1]);
    await rotate(name, 'compromise');
    await eventually(() => expect(keyNumbers(cluster)).toEqual([]));
    await eventually(async () => expect((await status(name)).deployKey).toBeNull());
    await expect(rotate(name, 'compromise')).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('another cluster that has the same key loses it, too, and is named; both get keys of their own', async () => {
    await addRepository('shared', null);
    const original = await follower('shared');
    const restored = await follower('shared', {}, original);
    const bystander = await follower('shared');
    const keysOf = (cluster: Cluster): string[] =>
      [...gitops.keys.deployKeys.values()]
        .filter(({ clusterId }) => clusterId === cluster.id)
        .map(({ publicKey }) => publicKey);
    const [shared = ''] = keysOf(original);
    expect(keysOf(restored)).toEqual([shared]);
    expect((await rotate(original.name, 'compromise')).alsoReplaced).toEqual([restored.name]);
    await eventually(() => expect([...keysOf(original), ...keysOf(restored)]).toEqual([]));
    expect(await rotations(restored)).toEqual([[2, 'begun', 'compromise']]);
    await eventually(async () => {
      for (const { installer } of [original, restored]) await installer.report();
      expect([keyNumbers(original), keyNumbers(restored), keyNumbers(bystander)]).toEqual([[2], [2], [1]]);
    });
    expect(new Set([shared, ...keysOf(original), ...keysOf(restored)]).size).toBe(3);
    expect((await rotate(original.name, 'compromise')).alsoReplaced).toEqual([]);
  });

  it('a cluster that was just deleted loses its keys at once, too', async () => {
    await addRepository('deleted', null);
    const cluster = await follower('deleted');
    await gitops.removeCluster(cluster.id);
    await eventually(() => expect(status(cluster.name)).rejects.toMatchObject({ code: 'NOT_FOUND' }));
    expect(keyNumbers(cluster)).toEqual([1]);
    await expect(rotate(cluster.name, 'demand')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await rotate(cluster.name, 'compromise');
    await eventually(() => expect(keyNumbers(cluster)).toEqual([]));
    await expect(rotate('never-there', 'compromise')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('there is nothing to replace where nothing is followed', async () => {
    count += 1;
    const name = `cluster-${count}`;
    await gitops.addCluster(name);
    await eventually(() => status(name));
    await expect(rotate(name, 'compromise')).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await status(name)).deployKey).toBeNull();
  });
});
