import 'reflect-metadata';
import { DEFAULT_TENANT, gitopsRpc, type Breaker, type Rollout } from '@fairlead/contracts';
import { eventually as poll } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { actor, gitopsFixture, type GitopsFixture } from './testing/gitops-fixture.js';
import { ScriptedInstaller } from './testing/installer.js';

const FLEET = 50;
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 90_000 });
const rollout = { waves: [1, '10%', '50%'], soakSeconds: 0, timeoutSeconds: 60 };
const selector = { labels: { fleet: 'yes' } };

let gitops: GitopsFixture;
let running: AsyncDisposable;
let fleet: ScriptedInstaller[];
const digests = new Map<string, string>();
/** Clusters that were ever told to run a bundle. */
const toldOf = new Map<string, Set<string>>();

beforeAll(async () => {
  gitops = await gitopsFixture();
  running = await gitops.start();
  for (const version of ['v1', 'bad', 'v3']) digests.set(version, (await gitops.uploadBundle(version)).digest);
  const labels = { fleet: 'yes' };
  const ids = await Promise.all(Array.from({ length: FLEET }, (_, index) => gitops.addCluster(`c${index}`, labels)));
  fleet = ids.map((id) => new ScriptedInstaller(gitops, id));
  // Until the service knows them all, a report is refused.
  await eventually(reportAll);
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await gitops?.[Symbol.asyncDispose]();
});

const assign = (bundleVersion: string): Promise<unknown> =>
  gitops.assign({
    name: 'fleet',
    selector,
    bundleVersion,
    rollout: { maxFailed: 0, onFailure: 'roll-back', ...rollout },
  });

/** Every installer does what it is told; with the bad bundle the tool does not come up. All at once may be too many for a busy machine. */
async function reportAll(): Promise<void> {
  await Promise.all(
    fleet.map(async (installer) => {
      const digest = (await gitops.stateOf(installer.clusterId))?.gitops?.bundle.digest;
      const told = toldOf.get(digest ?? '') ?? new Set();
      toldOf.set(digest ?? '', told.add(installer.clusterId));
      const problem = { code: 'CONTROLLER_CRASHES', message: 'it does not start', since: new Date().toISOString() };
      if (digest === digests.get('bad')) installer.says = { phase: 'escalated', problem };
      else if (installer.says.problem?.code === problem.code) installer.says = {};
      await installer.report();
    }),
  );
}

/** Reports until the newest rollout is in this state. */
function untilRollout(state: Rollout['state']): Promise<Rollout> {
  return eventually(async () => {
    await reportAll();
    const { rollouts } = await gitops.asApi.call(gitopsRpc.listRollouts, DEFAULT_TENANT, {});
    expect(rollouts[0]?.state).toBe(state);
    return rollouts[0]!;
  });
}

async function bundlesWanted(): Promise<Record<string, number>> {
  const { clusters } = await gitops.asApi.call(gitopsRpc.listClusterStatus, DEFAULT_TENANT, {});
  const counts: Record<string, number> = {};
  for (const { wish } of clusters) counts[wish?.bundle.version ?? '-'] = (counts[wish?.bundle.version ?? '-'] ?? 0) + 1;
  return counts;
}

it('brings a fleet to a bundle, wave by wave', async () => {
  await assign('v1');
  const done = await untilRollout('done');
  expect(done.waves.map(({ clusters }) => clusters)).toEqual([1, 5, 25, 19]);
  expect(done.waves.every(({ clusters, healthy }) => clusters === healthy)).toBe(true);
  expect(await bundlesWanted()).toEqual({ v1: FLEET });
});

it('stops a bad bundle at its first wave, and goes back', async () => {
  await assign('bad');
  const back = await untilRollout('rolled-back');
  expect(back).toMatchObject({ reason: '1 cluster of wave 1 failed' });
  expect(back.waves[0]).toMatchObject({ clusters: 1, failed: 1 });
  expect(toldOf.get(digests.get('bad')!)?.size).toBe(1);
  expect(await bundlesWanted()).toEqual({ v1: FLEET });
  const { assignments } = await gitops.asApi.call(gitopsRpc.listAssignments, DEFAULT_TENANT, {});
  expect(assignments[0]?.bundleVersion).toBe('v1');
  const removed = gitops.asApi.call(gitopsRpc.removeBundle, DEFAULT_TENANT, { tool: 'flux', version: 'bad', actor });
  await expect(removed).resolves.toEqual({});
});

it('opens the breaker when many come to fail alike: rollouts and repairs are held until it is closed', async () => {
  const problem = { code: 'GIT_UNREACHABLE', message: 'no route', since: new Date().toISOString() };
  for (const installer of fleet.slice(20, 32)) installer.says = { phase: 'degraded', problem };
  // On its way to a new state, a fleet waits alike: that is no failure, though there are more of them.
  const missing = { ...problem, code: 'BUNDLE_MISSING' };
  for (const installer of fleet.slice(0, 20)) installer.says = { phase: 'waiting', problem: missing };
  await eventually(reportAll);
  const breaker = (): Promise<Breaker> => gitops.asApi.call(gitopsRpc.breaker, DEFAULT_TENANT, {});
  const { clusters } = await eventually(async () => {
    const now = await breaker();
    expect(now).toMatchObject({ state: 'open', code: 'GIT_UNREACHABLE', of: FLEET });
    return now;
  });
  // A fifth of the fleet opens it; the last two reports may come after that.
  expect([10, 11, 12]).toContain(clusters);
  await eventually(async () => {
    const states = await Promise.all(fleet.map(({ clusterId }) => gitops.stateOf(clusterId)));
    expect(states.filter((state) => state?.gitops?.holdRepairs)).toHaveLength(FLEET);
  });
  await assign('v3');
  await untilRollout('held-by-breaker');
  expect(await bundlesWanted()).toEqual({ v1: FLEET });
  await gitops.asApi.call(gitopsRpc.resetBreaker, DEFAULT_TENANT, { actor });
  expect(await breaker()).toMatchObject({ state: 'closed', code: null });
  await eventually(async () => {
    const states = await Promise.all(fleet.map(({ clusterId }) => gitops.stateOf(clusterId)));
    expect(states.filter((state) => state?.gitops?.holdRepairs)).toHaveLength(0);
  });
  for (const installer of fleet) installer.says = {};
  const done = await untilRollout('done');
  expect(done.waves).toHaveLength(4);
  expect(await bundlesWanted()).toEqual({ v3: FLEET });
});

it('goes on where it was with another process, and as somebody steers it', async () => {
  for (const installer of fleet) installer.says = { phase: 'installing' };
  await eventually(reportAll);
  await assign('v1');
  const begun = await eventually(async () => {
    const { rollouts } = await gitops.asApi.call(gitopsRpc.listRollouts, DEFAULT_TENANT, {});
    expect(await bundlesWanted()).toEqual({ v1: 1, v3: FLEET - 1 });
    return rollouts[0]!;
  });
  const steer = (step: 'pause' | 'resume' | 'roll-back'): Promise<Rollout> =>
    gitops.asApi.call(gitopsRpc.steerRollout, DEFAULT_TENANT, { id: begun.id, step, actor });
  expect(await steer('pause')).toMatchObject({ state: 'paused' });
  await running[Symbol.asyncDispose]();
  running = await gitops.start();
  for (const installer of fleet) installer.says = {};
  await eventually(reportAll);
  expect(await steer('resume')).toMatchObject({ state: 'running' });
  await eventually(async () => {
    await reportAll();
    expect((await bundlesWanted())['v1']).toBeGreaterThan(1);
  });
  await steer('roll-back');
  await untilRollout('rolled-back');
  expect(await bundlesWanted()).toEqual({ v3: FLEET });
  await expect(steer('resume')).rejects.toMatchObject({ code: 'CONFLICT' });
});

it('are listed in pages, newest first, none twice and none left out', async () => {
  const before = new Set((await pages()).map(({ id }) => id));
  // Several of the same millisecond, and of different microseconds within it.
  await gitops.database.query(
    `insert into rollouts (id, tenant_id, assignment, version, spec, formers, former_of, progress, state, started_at, ended_at)
     select gen_random_uuid(), 'paged', assignment, version, spec, formers, former_of, progress, 'done',
         now() - n * interval '137 microseconds', now()
       from (select * from rollouts limit 1) one, generate_series(1, 250) n`,
  );
  const first = await gitops.asApi.call(gitopsRpc.listRollouts, 'paged', {});
  const last = first.rollouts.at(-1)?.id;
  await gitops.database.query('delete from rollouts where id = $1', [last]);
  const told = await pages('paged', first.next);
  const ids = [...first.rollouts, ...told].map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([250, 250]);
  // Nothing of another tenant.
  expect(new Set((await pages()).map(({ id }) => id))).toEqual(before);
});

async function pages(tenantId: string = DEFAULT_TENANT, after?: string): Promise<Rollout[]> {
  const page = await gitops.asApi.call(gitopsRpc.listRollouts, tenantId, { after });
  return page.next === undefined ? page.rollouts : [...page.rollouts, ...(await pages(tenantId, page.next))];
}

it('told all of it', async () => {
  const rows = (await gitops.database.query('select body from outbox order by id')) as { body: string }[];
  const told = rows.map(({ body }) => JSON.parse(body) as { type: string; data: { state?: string; actor: object } });
  const states = told.filter(({ type }) => type.endsWith('rollout.changed.v1')).map(({ data }) => data.state);
  expect(states).toEqual(expect.arrayContaining(['running', 'done', 'rolling-back', 'rolled-back', 'held-by-breaker']));
  const breaker = told.filter(({ type }) => type.endsWith('breaker.changed.v1'));
  expect(breaker.map(({ data }) => data.state)).toEqual(['open', 'closed']);
  expect(breaker[1]?.data.actor).toMatchObject({ kind: 'user', id: actor });
});
