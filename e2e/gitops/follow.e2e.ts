import type { DeployKey } from '@fairlead/contracts';
import type { ObjectEvent } from '@fairlead/desired-state';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greeting, greetingIn, greets, push } from './support/catalog.js';
import { readEvents } from '../support/events.js';
import { startCommitter } from './support/committer.js';
import { approveShownKeys, assign, setUp, status } from './support/follow.js';
import { startWorld, type World } from './support/world.js';

let world: World;

beforeAll(async () => {
  // Half of it is longer than it takes Flux to notice that a key is gone, and us to hear of that.
  world = await startWorld({ keysEnv: { FAIRLEAD_DEPLOY_KEY_CHECK_SECONDS: '40' } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

describe('a cluster that is to follow a repository', () => {
  it('has what is in it, after one import manifest', async () => {
    await setUp(world);
    await status(world, ({ health, report }) => {
      expect(report).toMatchObject({ phase: 'healthy', problem: null });
      expect(health).toBe('healthy');
    });
    expect(await greetingIn(world, 'from-git')).toBe('hello');
    // With the ports of this test: not those of a registry, nor of the Git host.
    await status(world, ({ report }) => {
      expect(report?.preflight?.hosts).toMatchObject([
        { kind: 'git', code: 'NOT_TRIED' },
        { kind: 'registry', host: 'ghcr.io', code: 'NOT_TRIED' },
      ]);
    });
  });

  it('gets what is pushed', async () => {
    await push(world, 'from-git.yaml', greeting('from-git', 'hello again'));
    await greets(world, 'from-git', 'hello again');
    expect(await greetingIn(world, 'from-git')).toBe('hello again');
  });
});

/** What the cluster says of its repository, once it says it. */
async function complains(code: string, message: RegExp): Promise<void> {
  await status(world, ({ report }) => {
    expect(report?.problem?.code).toBe(code);
    expect(report?.source).toMatchObject({ ready: false, message: expect.stringMatching(message) as string });
  });
}

/** It is healthy, and a new commit arrives. */
async function followsAgain(text: string): Promise<void> {
  await status(world, ({ health, report }) => {
    expect(report?.problem).toBeNull();
    expect(health).toBe('healthy');
  });
  await push(world, 'from-git.yaml', greeting('from-git', text));
  await greets(world, 'from-git', text);
}

const deployKeys = async (): Promise<DeployKey[]> =>
  (await world.api.ask<{ keys: DeployKey[] }>('GET', '/v1/clusters/demo/gitops/deploy-keys')).keys;

/** Resolves right after somebody has looked for the deploy key at the Git host: the next look is half a period away, at least. */
async function lookedForKey(): Promise<void> {
  const seenAt = async (): Promise<unknown> => (await deployKeys())[0]?.seenAt;
  const before = await seenAt();
  await eventually(async () => expect(await seenAt()).not.toBe(before), { timeoutMs: 90_000 });
}

describe('following stops, and says why, with what was deployed in place', () => {
  it('when the Git host shows another SSH key than those approved; one approval is enough', async () => {
    await world.gitea.changeHostKey();
    await complains('SOURCE_HOST_KEY', /knownhosts/);
    const changed = 'dev.fairlead.git-host.key-changed.v1';
    await eventually(async () => expect((await readEvents(world.stack)).map(({ type }) => type)).toContain(changed));
    expect(await greetingIn(world, 'from-git')).toBe('hello again');
    await approveShownKeys(world.api);
    await followsAgain('after another host key');
  });

  it('when the deploy key was removed at the Git host; it is put back without anybody', async () => {
    const [id] = await world.gitea.idsOnHost();
    await lookedForKey();
    await world.gitea.ask('DELETE', `/repos/platform/catalog/keys/${id}`);
    await complains('SOURCE_KEY_REFUSED', /unable to authenticate/);
    expect(await greetingIn(world, 'from-git')).toBe('after another host key');
    await followsAgain('after the key was put back');
    expect(await deployKeys()).toMatchObject([{ state: 'present', restored: 1 }]);
  });

  it('when the Git host cannot be reached', async () => {
    await world.gitea.server.stop();
    await complains('SOURCE_UNREACHABLE', /refused/);
    expect(await greetingIn(world, 'from-git')).toBe('after the key was put back');
    await world.gitea.server.restart();
    await followsAgain('after the host was away');
  });

  it('when somebody forces a commit without a signature in the place of a signed one', async () => {
    await using committer = await startCommitter(world);
    await committer.push('from-git.yaml', greeting('from-git', 'signed'), { signed: true });
    const keys = [{ name: 'committer', publicKey: committer.publicKey }];
    await assign(world, { verification: { type: 'gpg', keys } });
    await status(world, ({ wish, revision, report }) => {
      expect(wish?.source?.verification).not.toBeNull();
      expect(report).toMatchObject({ appliedRevision: revision, problem: null, source: { ready: true } });
    });
    await greets(world, 'from-git', 'signed');
    await committer.push('from-git.yaml', greeting('from-git', 'forged'), { signed: false, force: true });
    await complains('SOURCE_UNVERIFIED', /signature|verif/i);
    expect(await greetingIn(world, 'from-git')).toBe('signed');
    await committer.push('from-git.yaml', greeting('from-git', 'signed again'), { signed: true, force: true });
    await greets(world, 'from-git', 'signed again');
  });

  it('all of which is in the story of the cluster', async () => {
    const well = 'the repository is followed';
    const stops = ['SOURCE_HOST_KEY', 'SOURCE_KEY_REFUSED', 'SOURCE_UNREACHABLE', 'SOURCE_UNVERIFIED'];
    const expected = [well, ...stops.flatMap((code) => [code, well])];
    await eventually(async () => {
      const { events } = await world.api.ask<{ events: ObjectEvent[] }>('GET', '/v1/clusters/demo/gitops/events');
      const told = events.filter(({ object }) => object === 'catalog').toReversed();
      const codes = told.map(({ message }) => message.split(':')[0] ?? '');
      // There may be more between: a Git host that gets another key is away for a moment.
      expect(inOrder(codes, expected)).toEqual(expected);
    });
  });
});

/** Those of `wanted` that are there, one after the other. */
function inOrder(all: readonly string[], wanted: readonly string[]): string[] {
  const found: string[] = [];
  for (const each of all) if (each === wanted[found.length]) found.push(each);
  return found;
}
