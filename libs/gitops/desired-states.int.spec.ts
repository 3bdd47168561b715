import 'reflect-metadata';
import { DEFAULT_TENANT, gitopsRpc, type ClusterGitOps } from '@fairlead/contracts';
import { eventually as poll } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { healthOf } from './domain/cluster-health.js';
import { healthInputs } from './store/cluster-store.js';
import { actor, gitopsFixture, type GitopsFixture } from './testing/gitops-fixture.js';
import { ScriptedInstaller } from './testing/installer.js';
import { newPublicKey } from './testing/public-key.js';

const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 30_000 });
const hostKey = newPublicKey();

let gitops: GitopsFixture;
let running: AsyncDisposable;
let digest: string;
let count = 0;

beforeAll(async () => {
  gitops = await gitopsFixture();
  running = await gitops.start();
  ({ digest } = await gitops.uploadBundle('v1'));
  const wanted = { name: 'catalog', gitHost: 'gitea', path: 'platform/catalog', actor };
  await gitops.asApi.call(gitopsRpc.addRepository, DEFAULT_TENANT, wanted);
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await gitops?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  gitops.keys.keyState = 'present';
  gitops.keys.away = false;
  await gitops.keys.approve(hostKey);
});

/** A cluster that registration shows, and this service knows. */
async function newCluster(labels: Record<string, string> = {}): Promise<{ id: string; name: string }> {
  count += 1;
  const name = `cluster-${count}`;
  const id = await gitops.addCluster(name, labels);
  await eventually(() => status(name));
  return { id, name };
}

const status = (name: string): Promise<ClusterGitOps> =>
  gitops.asApi.call(gitopsRpc.clusterStatus, DEFAULT_TENANT, { name });

const remove = (name: string, what: 'keep' | 'tool' | 'everything'): Promise<unknown> =>
  gitops.asApi.call(gitopsRpc.removeAssignment, DEFAULT_TENANT, { name, remove: what, actor });

describe('the desired state of a cluster', () => {
  it('follows from the assignment that selects it, signed, and its installer brings the cluster to it', async () => {
    const { id, name } = await newCluster();
    expect(await status(name)).toMatchObject({ revision: 0, wish: null, health: 'unassigned' });
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    const first = await eventually(async () => {
      const state = await gitops.stateOf(id);
      expect(state?.gitops).toMatchObject({ tool: 'flux', bundle: { digest } });
      return state!;
    });
    expect(first).toMatchObject({ revision: 1, tenantId: DEFAULT_TENANT, clusterId: id });
    const [type, key] = hostKey.split(' ');
    expect(first.gitops).toMatchObject({
      source: {
        url: 'ssh://git@git.example.com:2222/platform/catalog.git',
        branch: 'main',
        path: `clusters/${name}`,
        knownHosts: [{ host: '[git.example.com]:2222', type, key }],
      },
      deployKey: { current: 1, currentReady: false, next: null },
    });
    expect(await status(name)).toMatchObject({ assignment: name, revision: 1, health: 'unknown' });
    const installer = new ScriptedInstaller(gitops, id);
    await installer.report();
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true));
    await installer.report();
    await eventually(async () => expect(await status(name)).toMatchObject({ revision: 2, health: 'healthy' }));
    // What metrics count is read otherwise, and says the same.
    const limits = { silenceMs: 300_000, graceMs: 600_000 };
    const counted = (await healthInputs(gitops.database.manager)).map((each) => healthOf(each, Date.now(), limits));
    expect(counted).toEqual(['healthy']);
  });

  it('goes by labels and priority, and what was said about an assignment that goes', async () => {
    const { id, name } = await newCluster({ env: 'prod' });
    await gitops.assign({ name: 'all-prod', selector: { labels: { env: 'prod' } }, suspend: true });
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.suspend).toBe(true));
    await gitops.assign({ name: 'one', selector: { cluster: name }, selfHeal: 'observe' });
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.selfHeal).toBe('observe'));
    await remove('one', 'everything');
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ gitops: { suspend: true } }));
    await gitops.addCluster(name, { env: 'dev' }, id);
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ gitops: null, remove: 'keep' }));
    await gitops.addCluster(name, { env: 'prod' }, id);
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.suspend).toBe(true));
    await remove('all-prod', 'tool');
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ gitops: null, remove: 'tool' }));
    expect(await status(name)).toMatchObject({ assignment: null, wish: null, health: 'unassigned' });
  });

  it('follows nothing new without approved host keys, and freezes what it follows, until somebody approves', async () => {
    await gitops.keys.approve();
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    await eventually(async () => {
      expect(await gitops.stateOf(id)).toMatchObject({ gitops: { source: null } });
      expect((await status(name)).waitsFor).toContain('approve them');
    });
    await gitops.keys.approve(hostKey);
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.source?.knownHosts).toHaveLength(1));
    expect((await status(name)).waitsFor).toBeNull();
    await gitops.keys.approve(hostKey, newPublicKey());
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.source?.knownHosts).toHaveLength(2));
    await gitops.keys.approve();
    await eventually(async () => {
      expect(await gitops.stateOf(id)).toMatchObject({ gitops: { suspend: true, source: { branch: 'main' } } });
    });
  });

  it('is above what the installer has seen, even if nobody here remembers it', async () => {
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name } });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const installer = new ScriptedInstaller(gitops, id);
    installer.says = { observedRevision: 40, appliedRevision: 40 };
    await installer.report();
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 41 }));
  });

  it('is above it only so often, where each report claims more', async () => {
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name } });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const installer = new ScriptedInstaller(gitops, id);
    const claim = async (observedRevision: number): Promise<void> => {
      installer.says = { observedRevision };
      await installer.report();
    };
    for (const revision of [2, 4, 6]) {
      await claim(revision);
      await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: revision + 1 }));
    }
    for (const revision of [8, 9, 10]) {
      await claim(revision);
      await eventually(async () => expect((await status(name)).waitsFor).toContain(`reports revision ${revision},`));
    }
    expect(await status(name)).toMatchObject({ revision: 7 });
    const [{ told }] = await gitops.database.query(
      'select count(*)::int as told from outbox where body like $1 and body like $2',
      ['%desired-state.changed%', `%${id}%`],
    );
    expect(told).toBe(4);
    // What somebody wants is not held up, and goes above what is claimed.
    await gitops.assign({ name, selector: { cluster: name }, suspend: true });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 11 }));
    await claim(12);
    await eventually(async () => expect((await status(name)).waitsFor).toContain('reports revision 12,'));
    gitops.aheadMs = 600_000;
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 13 }));
    gitops.aheadMs = 0;
  });

  it('is signed again in time, as the same revision', async () => {
    gitops.keys.signatureLifeMs = 4_000;
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name } });
    const first = await eventually(() => {
      const entry = gitops.desired.get(`${DEFAULT_TENANT}.${id}`);
      expect(entry).toBeDefined();
      return entry!;
    });
    await eventually(() => {
      const entry = gitops.desired.get(`${DEFAULT_TENANT}.${id}`);
      expect(entry?.signature).not.toBe(first.signature);
      expect(entry).toMatchObject({ revision: 1, document: first.document });
    });
    gitops.keys.signatureLifeMs = 86_400_000;
  });

  it('waits for keys to come back', async () => {
    gitops.keys.away = true;
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name } });
    await eventually(async () => {
      const [row] = await gitops.database.query('select failures from clusters where id = $1', [id]);
      expect(row.failures).toBeGreaterThan(1);
    });
    expect(await gitops.stateOf(id)).toBeUndefined();
    gitops.keys.away = false;
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
  });

  it('is made by one of two replicas, and by the other one when that stops', async () => {
    const second = await gitops.start();
    const { id, name } = await newCluster();
    await running[Symbol.asyncDispose]();
    running = second;
    await gitops.assign({ name, selector: { cluster: name } });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
  });
});

describe('what cannot be driven keeps no other from its turn:', () => {
  it('a rollout', async () => {
    const [broken, other] = [await newCluster(), await newCluster()];
    await gitops.assign({ name: broken.name, selector: { cluster: broken.name } });
    await gitops.database.query(`update rollouts set progress = '{"clusters": {}}' where assignment = $1`, [
      broken.name,
    ]);
    await gitops.database.query(`update rollouts set ended_at = null where assignment = $1`, [broken.name]);
    await gitops.assign({ name: other.name, selector: { cluster: other.name } });
    await eventually(async () => expect(await gitops.stateOf(other.id)).toMatchObject({ revision: 1 }));
    await gitops.database.query('delete from rollouts where assignment = $1', [broken.name]);
  });

  it('a breaker', async () => {
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name } });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const [{ breaker }] = await gitops.database.query('select breaker from breakers');
    await gitops.database.query(`update breakers set breaker = 'null'`);
    const installer = new ScriptedInstaller(gitops, id);
    installer.says = { observedRevision: 3 };
    await installer.report();
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 4 }));
    await gitops.database.query('update breakers set breaker = $1::jsonb', [JSON.stringify(breaker)]);
  });
});

describe('the deploy key of a cluster', () => {
  it('waits for the Git host', async () => {
    gitops.keys.keyState = 'wanted';
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    await new ScriptedInstaller(gitops, id).report();
    await eventually(() => expect([...gitops.keys.deployKeys.keys()].join()).toContain(id));
    expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(false);
    gitops.keys.keyState = 'present';
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true));
  });

  it('is tried where somebody adds it by hand, who is told so until it works', async () => {
    gitops.keys.keyState = 'by-hand';
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const installer = new ScriptedInstaller(gitops, id);
    installer.works = () => null;
    await installer.report();
    await eventually(async () => expect((await status(name)).waitsFor).toMatch(/^add ssh-ed25519 /));
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true));
    installer.works = () => true;
    await installer.report();
    await eventually(async () => expect((await status(name)).waitsFor).toBeNull());
  });

  it('is rotated: added, tried, switched to, and the old one dropped', async () => {
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const installer = new ScriptedInstaller(gitops, id);
    await installer.report();
    await eventually(async () => expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true));
    installer.works = (number) => (number === 1 ? true : null);
    await gitops.asApi.call(gitopsRpc.rotateDeployKey, DEFAULT_TENANT, { name, actor });
    const again = gitops.asApi.call(gitopsRpc.rotateDeployKey, DEFAULT_TENANT, { name, actor });
    await expect(again).rejects.toMatchObject({ code: 'CONFLICT' });
    await eventually(async () => {
      await installer.report();
      expect((await gitops.stateOf(id))?.gitops?.deployKey).toMatchObject({ current: 1, next: 2, nextReady: true });
    });
    installer.works = () => true;
    await eventually(async () => {
      await installer.report();
      expect((await gitops.stateOf(id))?.gitops?.deployKey).toMatchObject({
        current: 2,
        next: null,
        currentReady: true,
      });
    });
    const numbers = (): number[] =>
      [...gitops.keys.deployKeys.values()].filter(({ clusterId }) => clusterId === id).map((each) => each.number);
    await eventually(async () => {
      await installer.report();
      expect(numbers()).toEqual([2]);
    });
  });

  it('leaves the Git host when the cluster has long been deleted', async () => {
    const { id, name } = await newCluster();
    await gitops.assign({ name, selector: { cluster: name }, repository: 'catalog' });
    await eventually(async () => expect(await gitops.stateOf(id)).toMatchObject({ revision: 1 }));
    const installer = new ScriptedInstaller(gitops, id);
    await eventually(async () => {
      await installer.report();
      expect((await gitops.stateOf(id))?.gitops?.deployKey.currentReady).toBe(true);
    });
    await gitops.removeCluster(id);
    await eventually(() => expect(status(name)).rejects.toMatchObject({ code: 'NOT_FOUND' }));
    await gitops.database.query(
      `update clusters set absent_since = absent_since - interval '2 hours', due_at = now(), touched = touched + 1
        where id = $1`,
      [id],
    );
    await eventually(() => {
      expect([...gitops.keys.deployKeys.values()].filter(({ clusterId }) => clusterId === id)).toEqual([]);
    });
  });
});
