// @tier full: needs root and a Docker engine; `tools/stack/compose` holds the file against the table of services, in the ordinary tier
import { join } from 'node:path';
import { LONGEST_NODE_MS } from '@fairlead/testbed';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openOf, tcpProbe } from '../support/tcp-probe.js';
import { startComposeWorld, type ComposeWorld } from './world.js';

const START_MS = 300_000;
const UP_MS = 600_000;
const BACK_MS = 120_000;
const OURS = ['access', 'api', 'audit', 'gateway-a', 'gateway-b', 'gitops', 'keys', 'registration'];
const HEALTHY = [...OURS, 'demo-agent', 'nats', 'postgres', 'tour'].toSorted();
const ONCE = [
  'demo-keys',
  'secrets',
  'serving-root',
  'setup',
  'access-migrate',
  'audit-migrate',
  'gitops-migrate',
  'keys-migrate',
  'registration-migrate',
];

let world: ComposeWorld;
beforeAll(async () => {
  world = await startComposeWorld();
}, START_MS + LONGEST_NODE_MS);
afterAll(() => world?.[Symbol.asyncDispose](), START_MS);

interface Seen {
  readonly Service: string;
  readonly State: string;
  readonly Health: string;
  readonly ExitCode: number;
}

async function seen(...args: string[]): Promise<Seen[]> {
  const lines = (await world.compose('ps', '--all', '--format', 'json', ...args)).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Seen);
}

const healthy = async (): Promise<string[]> =>
  (await seen())
    .filter(({ Health }) => Health === 'healthy')
    .map(({ Service }) => Service)
    .toSorted();

async function up(): Promise<number> {
  const started = performance.now();
  try {
    await world.compose('up', '--detach', '--wait', '--no-build');
  } catch (cause) {
    throw new Error(`${String(cause)}\n${await world.compose('logs', '--tail', '20')}`, { cause });
  }
  const seconds = (performance.now() - started) / 1_000;
  console.log(`docker compose up --wait: ${seconds.toFixed(1)} s`);
  return seconds;
}

describe('docker compose up', () => {
  it('brings everything up, each healthy', { timeout: UP_MS }, async () => {
    await up();
    expect(await healthy()).toEqual(HEALTHY);
    const ended = (await seen()).filter(({ State, ExitCode }) => State === 'exited' && ExitCode === 0);
    expect(ended.map(({ Service }) => Service).toSorted()).toEqual(ONCE.toSorted());
  });

  it('lets an administrator in, with what docs/compose.md says', { timeout: BACK_MS }, async () => {
    await world.login();
    await world.fairlead('cluster', 'create', 'shop');
    expect(await world.fairlead('cluster', 'list')).toMatch(/^shop +never/m);
  });

  it('gives a first tour, in a container that has the commands', { timeout: BACK_MS }, async () => {
    const tour = (...command: string[]): Promise<string> => world.compose('exec', '-T', 'tour', ...command);
    expect(await tour('fairlead', 'cluster', 'list')).toMatch(/^demo +online/m);
    expect(await tour('kubectl', '--context', 'demo@gateway-a', 'get', 'namespaces')).toMatch(/^default +Active/m);
    await tour('kubectl', '--context', 'demo@gateway-b', 'create', 'configmap', 'note', '--from-literal=from=fairlead');
    expect(await tour('kubectl', '--context', 'demo@gateway-a', 'get', 'configmap', 'note', '-o', 'yaml')).toContain(
      'from: fairlead',
    );
    expect(await tour('kubectl', '--context', 'demo@gateway-a', 'auth', 'whoami')).toContain('system:');
  });

  it('gives the same tour outside of containers', { timeout: BACK_MS }, async () => {
    await world.fairlead('kubeconfig', 'demo', '--output', join(world.dir, 'demo.kubeconfig'));
    for (const context of ['demo@gateway-a', 'demo@gateway-b'])
      expect(await world.kubectl('--context', context, 'get', 'configmap', 'note', '-o', 'name')).toBe(
        'configmap/note\n',
      );
  });

  it.each(['gateway-a', 'gateway-b', 'registration', 'nats', 'postgres', 'demo-agent', 'demo-apiserver'])(
    'starts %s again when it is killed',
    { timeout: 4 * BACK_MS },
    async (service) => {
      const id = (await world.compose('ps', '--quiet', service)).trim();
      const startedAt = (): Promise<string> => world.engine.docker('inspect', '--format', '{{.State.StartedAt}}', id);
      const before = await startedAt();
      await world.engine.kill(id);
      await eventually(async () => expect(await startedAt()).not.toBe(before), { timeoutMs: BACK_MS });
      await eventually(async () => expect(await healthy()).toEqual(HEALTHY), { timeoutMs: BACK_MS });
      const list = (): Promise<string> => world.fairlead('cluster', 'list');
      await eventually(async () => expect(await list()).toMatch(/^demo +online/m), { timeoutMs: BACK_MS });
      const read = ['--context', 'demo@gateway-a', 'get', 'configmap', 'note', '-o', 'name'];
      await eventually(async () => expect(await world.kubectl(...read)).toBe('configmap/note\n'), {
        timeoutMs: BACK_MS,
      });
    },
  );

  it(
    'takes a setting that changes, by one more up, though both gateways are replaced',
    { timeout: UP_MS },
    async () => {
      const id = async (): Promise<string> => (await world.compose('ps', '--quiet', 'gateway-a')).trim();
      const before = await id();
      world.settings['FAIRLEAD_AUDIT'] = 'required';
      await up();
      expect(await id()).not.toBe(before);
      expect(await healthy()).toEqual(HEALTHY);
    },
  );

  it('keeps its state and its CA over down and up', { timeout: UP_MS }, async () => {
    const root = (): Promise<string> =>
      world.compose('exec', '-T', 'api', 'node', 'apps/api/dist/bundle/main.js', 'serving-root');
    const certificate = async (): Promise<string | undefined> => /-----BEGIN[^]*END/.exec(await root())?.[0];
    const before = await certificate();
    await world.compose('down');
    expect(await world.engine.docker('ps', '--all', '--quiet')).toBe('');
    await up();
    expect(await certificate()).toBe(before);
    expect(await world.fairlead('cluster', 'list')).toMatch(/^shop /m);
    const read = ['--context', 'demo@gateway-b', 'get', 'configmap', 'note', '-o', 'name'];
    expect(await world.kubectl(...read)).toBe('configmap/note\n');
  });

  it('gives the administrator another token, by what docs/compose.md says', { timeout: UP_MS }, async () => {
    await world.compose('down');
    await world.engine.docker('volume', 'rm', 'fairlead_access');
    await up();
    const old = await world.fairlead('cluster', 'list').catch(String);
    expect(old).toContain('refuses the token');
    await world.login();
    expect(await world.fairlead('cluster', 'list')).toMatch(/^demo +online/m);
  });
});

describe('each container', () => {
  interface Inspected {
    readonly Config: { readonly User: string };
    readonly HostConfig: {
      readonly ReadonlyRootfs: boolean;
      readonly CapDrop: readonly string[];
      readonly CapAdd: readonly string[] | null;
      readonly SecurityOpt: readonly string[];
      readonly Privileged: boolean;
    };
    readonly Mounts: readonly { readonly Name?: string; readonly RW: boolean; readonly Destination: string }[];
  }

  const inspect = async (service: string): Promise<Inspected> => {
    const id = (await world.compose('ps', '--all', '--quiet', service)).trim();
    return (JSON.parse(await world.engine.docker('inspect', id)) as [Inspected])[0];
  };

  it.each(HEALTHY)('of %s has no right, no other user and a read-only root', async (service) => {
    const { Config, HostConfig } = await inspect(service);
    expect(Config.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], Privileged: false });
    expect(HostConfig.CapAdd ?? []).toEqual([]);
    expect(HostConfig.SecurityOpt).toContain('no-new-privileges:true');
  });

  it('sees no secret but its own', async () => {
    const files = await world.compose(
      'exec',
      '-T',
      'gateway-a',
      'find',
      '/run/fairlead',
      '/etc/fairlead',
      '-type',
      'f',
    );
    expect(files.trim().split('\n').toSorted()).toEqual([
      '/etc/fairlead/infrastructure-ca.crt',
      '/run/fairlead/current/nats.seed',
    ]);
  });
});

describe('networks', () => {
  /** Every address that a container has, so that no name stands in the way. */
  async function addressesOf(service: string): Promise<string[]> {
    const id = (await world.compose('ps', '--quiet', service)).trim();
    const of = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
    return (await world.engine.docker('inspect', '--format', of, id)).trim().split(' ');
  }

  /** There is no way from one network to another; in one that they share, a gateway listens for others at its address in another. */
  const NOT_LET_THROUGH = ['dropped', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNREFUSED'];

  /** Those of its addresses that a program in a container reaches. */
  async function reached(from: string, service: string, port: number): Promise<readonly string[]> {
    const addresses = await addressesOf(service);
    const printed = await world.compose('exec', '-T', from, 'node', '-e', tcpProbe(addresses, port));
    return openOf(addresses, printed, NOT_LET_THROUGH);
  }

  it.each([
    ['keys', 'postgres', 5432],
    ['gateway-a', 'nats', 4222],
    ['gateway-a', 'gateway-b', 7445],
    ['demo-agent', 'gateway-a', 7444],
    ['demo-agent', 'demo-apiserver', 6443],
  ] as const)('let %s to %s:%i', async (from, service, port) => {
    expect(await reached(from, service, port)).not.toEqual([]);
  });

  it.each([
    ['gateway-a', 'postgres', 5432],
    ['api', 'postgres', 5432],
    ['registration', 'gateway-a', 7445],
    ['api', 'gateway-a', 7445],
    ['demo-agent', 'gateway-a', 7443],
    ['demo-agent', 'gateway-a', 7445],
    ['demo-agent', 'gateway-a', 7446],
    ['demo-agent', 'gateway-a', 7447],
    ['demo-agent', 'api', 7070],
    ['demo-agent', 'nats', 4222],
    ['demo-agent', 'postgres', 5432],
    ['gateway-a', 'demo-apiserver', 6443],
    ['demo-agent', 'demo-etcd', 2379],
  ] as const)('do not let %s to %s:%i, at any of its addresses', async (from, service, port) => {
    expect(await reached(from, service, port)).toEqual([]);
  });
});

it('secrets stand in no log', async () => {
  const token = await world.compose('exec', '-T', 'access', 'cat', '/run/fairlead/current/admin-token');
  expect(await world.compose('logs')).not.toContain(token.trim());
});
