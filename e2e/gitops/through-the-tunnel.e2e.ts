import { createHash, generateKeyPairSync } from 'node:crypto';
import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { greeting, greetingIn, push } from './support/catalog.js';
import { assign, GIT_HOST, setUp, status } from './support/follow.js';
import { CLUSTER, startWorld, type World } from './support/world.js';

const PATIENCE = { timeoutMs: 90_000 };

let world: World;
/** Ports of the agent: one leads to the Git host, the other to an address that no rule allows. */
let way: number;
let closedWay: number;

beforeAll(async () => {
  [way, closedWay] = [await freePort(), await freePort()];
  world = await startWorld({
    // What listens in a test stays on loopback.
    agentEnv: { FAIRLEAD_EGRESS_ADDRESS: '127.0.0.1' },
    stack: { gatewayEnv: { FAIRLEAD_EGRESS_ALLOW: `${CLUSTER}@127.0.0.1:1024-65535` } },
  });
  const { sshPort } = world.gitea.info;
  const egress = [`${way}=127.0.0.1:${sshPort}`, `${closedWay}=127.0.0.2:${sshPort}`].flatMap((rule) => [
    '--egress',
    rule,
  ]);
  await setUp(world, [...egress, '--git-through', `127.0.0.1:${way}`]);
});
afterAll(() => world?.[Symbol.asyncDispose]());

const arrives = (text: string): Promise<void> =>
  eventually(async () => expect(await greetingIn(world, 'from-git')).toBe(text), PATIENCE);

/** What Flux says of its source, once it is as wanted. */
const sourceSays = (text: RegExp): Promise<void> =>
  eventually(async () => {
    const message = '-o=jsonpath={.items[*].status.conditions[?(@.type=="Ready")].message}';
    expect(await world.kubectl(['get', 'gitrepositories', '-A', message])).toMatch(text);
  }, PATIENCE);

const sourceUrls = (): Promise<string> =>
  world.kubectl(['get', 'gitrepositories', '-A', '-o=jsonpath={.items[*].spec.url}']);

/** A host key that nobody has. */
function anotherKey(): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const parts = [Buffer.from('ssh-ed25519'), Buffer.from(x, 'base64url')];
  const blob = Buffer.concat(parts.flatMap((part) => [Buffer.from([0, 0, 0, part.length]), part]));
  return `ssh-ed25519 ${blob.toString('base64')}`;
}

/** Makes this the one host key that counts, for all clusters. */
async function approve(key: string): Promise<void> {
  const [type, blob = ''] = key.split(' ');
  const digest = createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64').replace(/=+$/, '');
  const body = { fingerprints: [`SHA256:${digest}`], keys: [`${type} ${blob}`] };
  await world.api.ask('POST', `/v1/git-hosts/${GIT_HOST}/host-keys/approval`, body);
}

describe('a cluster whose way to the Git host is its agent', () => {
  it('follows its repository, which Flux fetches through the tunnel', async () => {
    await status(world, ({ health }) => expect(health).toBe('healthy'));
    await arrives('hello');
    expect(await sourceUrls()).toBe(`ssh://git@127.0.0.1:${way}/platform/catalog.git`);
    await push(world, 'from-git.yaml', greeting('from-git', 'hello again'));
    await arrives('hello again');
  });

  it('stops where the host shows another key than the approved ones, and goes on once that is approved', async () => {
    await approve(anotherKey());
    await sourceSays(/knownhosts|host key/i);
    await push(world, 'from-git.yaml', greeting('from-git', 'after the key'));
    expect(await greetingIn(world, 'from-git')).toBe('hello again');
    await approve(world.gitea.info.sshHostKey);
    await arrives('after the key');
  });

  it('gets nowhere that no rule of the gateways allows', async () => {
    await assign(world, { gitThrough: `127.0.0.1:${closedWay}` });
    await eventually(async () => expect(await sourceUrls()).toContain(`:${closedWay}/`), PATIENCE);
    await sourceSays(/reset|EOF|closed/i);
    await assign(world, { gitThrough: `127.0.0.1:${way}` });
    await push(world, 'from-git.yaml', greeting('from-git', 'back'));
    await arrives('back');
    expect(await sourceUrls()).toContain(`:${way}/`);
  });
});
