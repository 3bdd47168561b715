import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greeting, greetingIn, push } from './support/catalog.js';
import { setUp, status } from './support/follow.js';
import { CLUSTER, startWorld, type World } from './support/world.js';

const PATIENCE = { timeoutMs: 90_000 };

let world: World;
/** The agent's port that leads to the Git host. */
let way: number;

beforeAll(async () => {
  way = await freePort();
  world = await startWorld({
    // What listens in a test stays on loopback.
    agentEnv: { FAIRLEAD_EGRESS_ADDRESS: '127.0.0.1' },
    stack: { gatewayEnv: { FAIRLEAD_EGRESS_ALLOW: `${CLUSTER}@127.0.0.1:1024-65535` } },
  });
  const { sshPort } = world.gitea.info;
  const egress = [`${way}=127.0.0.1:${sshPort}`];
  await setUp(world, { gitThrough: `127.0.0.1:${way}` }, { egress });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const arrives = (text: string): Promise<void> =>
  eventually(async () => expect(await greetingIn(world, 'from-git')).toBe(text), PATIENCE);

const sourceUrls = (): Promise<string> =>
  world.kubectl(['get', 'gitrepositories', '-A', '-o=jsonpath={.items[*].spec.url}']);

describe('a cluster whose way to the Git host is its agent', () => {
  it('follows its repository, which Flux fetches through the tunnel', async () => {
    await status(world, ({ health }) => expect(health).toBe('healthy'));
    await arrives('hello');
    expect(await sourceUrls()).toBe(`ssh://git@127.0.0.1:${way}/platform/catalog.git`);
    await push(world, 'from-git.yaml', greeting('from-git', 'hello again'));
    await arrives('hello again');
  });
});
