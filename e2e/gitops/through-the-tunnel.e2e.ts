// @tier full: the same with Flux in a network of its own; libs/installation/egress-git fetches so, e2e/gitops/follow shows Flux
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { promisify } from 'node:util';
import { freePort } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from '../support/events.js';
import { greeting, greetingIn, greets, push } from './support/catalog.js';
import { approveShownKeys, assign, becomesHealthy, setUp, status } from './support/follow.js';
import { CLUSTER, startWorld, type World } from './support/world.js';

let world: World;
/** Ports of the agent: one leads to the Git host, the other to an address that no rule allows. */
let way: number;
let closedWay: number;
/** What listens at that address: somebody else, who counts who comes. */
let elsewhere: Server;
let came = 0;

beforeAll(async () => {
  [way, closedWay] = [await freePort(), await freePort()];
  world = await startWorld({
    cutOff: true,
    // What listens in a test stays on loopback.
    agentEnv: { FAIRLEAD_EGRESS_ADDRESS: '127.0.0.1' },
    stack: { env: { gateway: { FAIRLEAD_EGRESS_ALLOW: `${CLUSTER}@127.0.0.1:1024-65535` } } },
  });
  const { sshPort } = world.gitea.info;
  elsewhere = createServer((socket) => {
    came++;
    socket.destroy();
  }).listen(sshPort, '127.0.0.2');
  await once(elsewhere, 'listening');
  const egress = [`${way}=127.0.0.1:${sshPort}`, `${closedWay}=127.0.0.2:${sshPort}`].flatMap((rule) => [
    '--egress',
    rule,
  ]);
  await setUp(world, [...egress, '--git-through', `127.0.0.1:${way}`]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  elsewhere?.close();
});

/** Dials a port of 127.0.0.1, and says how that went. */
const DIAL = `require('node:net').connect(process.argv[1], '127.0.0.1')
  .once('error', ({ code }) => console.log(code))
  .once('connect', function () { console.log('connected'); this.destroy(); })`;
const dialHere = async (port: number | string): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['-e', DIAL, `${port}`])).stdout.trim();
/** From the very pod that fetches. */
async function dialInside(port: number | string): Promise<string> {
  const pod = ['-n', 'flux-system', 'deploy/source-controller'];
  return (await world.kubectl(['exec', ...pod, '--', process.execPath, '-e', DIAL, `${port}`])).trim();
}

const sourceUrls = (): Promise<string> =>
  world.kubectl(['get', 'gitrepositories', '-A', '-o=jsonpath={.items[*].spec.url}']);

async function knownHosts(): Promise<string> {
  const data = ['secret', 'fairlead-catalog', '-n', 'flux-system', '-o=jsonpath={.data.known_hosts}'];
  return Buffer.from(await world.kubectl(['get', ...data]), 'base64').toString();
}

/** What the cluster says of its repository, once it says it. */
async function complains(code: RegExp, message: RegExp): Promise<void> {
  await status(world, ({ report }) => {
    expect(report?.source).toMatchObject({ ready: false, message: expect.stringMatching(message) as string });
    expect(report?.problem?.code).toMatch(code);
  });
}

describe('a cluster whose way to the Git host is its agent', () => {
  it('follows its repository, which Flux fetches through the tunnel', async () => {
    await becomesHealthy(world);
    await greets(world, 'from-git', 'hello');
    expect(await sourceUrls()).toBe(`ssh://git@127.0.0.1:${way}/platform/catalog.git`);
    expect(await knownHosts()).toBe(`[127.0.0.1]:${way} ${world.gitea.info.sshHostKey}\n`);
    await push(world, 'from-git.yaml', greeting('from-git', 'hello again'));
    await greets(world, 'from-git', 'hello again');
  });

  it('does not reach the Git host itself, which is there for others', async () => {
    const { port, sshPort } = world.gitea.info;
    expect([await dialHere(port), await dialHere(sshPort)]).toEqual(['connected', 'connected']);
    expect([await dialInside(port), await dialInside(sshPort)]).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
    // It can dial: what is let in, and its agent.
    expect([await dialInside(new URL(world.cluster.kube.info.url).port), await dialInside(way)]).toEqual([
      'connected',
      'connected',
    ]);
    await assign(world);
    await complains(/SOURCE_UNREACHABLE/, /connection refused/);
    expect(await sourceUrls()).toBe(`ssh://git@127.0.0.1:${sshPort}/platform/catalog.git`);
    await push(world, 'from-git.yaml', greeting('from-git', 'by the way'));
    expect(await greetingIn(world, 'from-git')).toBe('hello again');
    await assign(world, { gitThrough: `127.0.0.1:${way}` });
    await greets(world, 'from-git', 'by the way');
  });

  it('stops where the host shows another key than the approved one, and goes on once that is approved', async () => {
    const before = await knownHosts();
    await world.gitea.changeHostKey();
    await complains(/SOURCE_HOST_KEY/, /knownhosts/);
    await push(world, 'from-git.yaml', greeting('from-git', 'after the key'));
    expect(await greetingIn(world, 'from-git')).toBe('by the way');
    expect(await knownHosts()).toBe(before);
    await approveShownKeys(world.api);
    await greets(world, 'from-git', 'after the key');
    expect(await knownHosts()).toMatch(new RegExp(`^\\[127\\.0\\.0\\.1\\]:${way} ssh-ed25519 \\S+\\n$`));
    expect(await knownHosts()).not.toBe(before);
  });

  it('gets nowhere that no rule of the gateways allows', async () => {
    await assign(world, { gitThrough: `127.0.0.1:${closedWay}` });
    await complains(/^SOURCE_/, /reset|EOF|closed/i);
    expect(await sourceUrls()).toContain(`:${closedWay}/`);
    await eventually(async () => {
      const refused = (await readEvents(world.stack)).filter(({ type }) => type === 'dev.fairlead.access.refused.v1');
      expect(refused.map(({ data }) => data)).toContainEqual(
        expect.objectContaining({ door: 'egress', reason: 'TARGET_REFUSED' }),
      );
    });
    // Somebody is there, and nobody came.
    expect(came).toBe(0);
    await assign(world, { gitThrough: `127.0.0.1:${way}` });
    await push(world, 'from-git.yaml', greeting('from-git', 'back'));
    await greets(world, 'from-git', 'back');
    expect(await sourceUrls()).toContain(`:${way}/`);
  });
});
