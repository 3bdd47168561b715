import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandOutput, Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fairlead } from '../support/fairlead.js';
import { secretScan } from '../support/secret-scan/index.js';
import { kubectl, startTestStack, type TestStack } from '../support/test-stack.js';
import { breakGlass, logIn, succeeds, type Person } from './person.js';

/** kubectl and the command begin and end processes, on a machine that does other things besides. */
const SEEN_WITHIN_MS = 20_000;
const GATEWAYS = ['gateway-a', 'gateway-b'];

let running: TestStack;
let stack: Stack;
let colleague: Person;

beforeAll(async () => {
  running = await startTestStack({ demoNode: true });
  ({ stack } = running);
  await requireStatements();
  await fairlead(stack, 'cluster', 'label', 'demo', 'env=staging');
  await fairlead(stack, 'cluster', 'create', 'prod', '--label', 'env=prod');
  await kubectl(stack, 'gateway-a', ['create', 'configmap', 'shown', '--from-literal=a=b']);
  await kubectl(stack, 'gateway-a', ['create', 'namespace', 'other']);
  const tokenFile = join(stack.stateDir, 'colleague.token');
  await fairlead(stack, 'api-token', 'create', 'colleague', '--for', '1h', '--out', tokenFile);
  secretScan.issued.add('the API token of the colleague', (await readFile(tokenFile, 'utf8')).trim());
  await grant('--role', 'view', '--namespace', 'default', '--clusters', 'env=staging', '--for', '1h');
  colleague = await eventually(() => logIn(stack, 'colleague', tokenFile), { timeoutMs: SEEN_WITHIN_MS });
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
});

/** From now on the demo's agent serves nobody by a gateway's word alone: it hears it, signed, and nothing is applied again. */
async function requireStatements(): Promise<void> {
  const values = join(stack.stateDir, 'values.yaml');
  await writeFile(values, 'requireStatements: true\n');
  await fairlead(stack, 'cluster', 'update', 'demo', '--values', values);
  await soon(async () => expect(await lastHeard()).toMatchObject({ required: [expect.any(String)] }));
  // And says so, although its manifest does not.
  await soon(async () => {
    const shown = JSON.parse(await fairlead(stack, 'cluster', 'show', 'demo', '-o', 'json')) as object;
    expect(shown).toMatchObject({ facts: { capabilities: expect.arrayContaining(['link:statements-required']) } });
  });
}

/** Its id. */
async function grant(...what: string[]): Promise<string> {
  const told = ['--token', 'colleague', '--reason', 'looks around', '-o', 'json'];
  return (JSON.parse(await fairlead(stack, 'grant', 'create', ...told, ...what)) as { id: string }).id;
}

interface Shown {
  readonly status: { readonly token: string };
}

const refused = (pattern: RegExp): CommandOutput =>
  expect.objectContaining({ code: 1, stderr: expect.stringMatching(pattern) as string }) as CommandOutput;

/** Doors and the API are told of a change a moment after the command has ended. */
function soon(look: () => Promise<void>): Promise<void> {
  return eventually(look, { timeoutMs: SEEN_WITHIN_MS });
}

/** Of which statements the agent heard last that they were revoked. */
async function lastHeard(): Promise<unknown> {
  const lines = (await readFile(stack.process('agent-demo').logPath, 'utf8')).split('\n');
  const line = lines.findLast((each) => each.includes('statement.revocations'));
  return line === undefined ? null : JSON.parse(line);
}

describe('a colleague with view in one namespace of clusters with a label', () => {
  it('sees these clusters and no others, and of the admin API their own', async () => {
    expect(await succeeds(colleague.fairlead('cluster', 'list', '-o', 'name'))).toBe('demo\n');
    expect(await colleague.fairlead('cluster', 'show', 'prod')).toEqual(refused(/there is no cluster named prod/));
    expect(await colleague.fairlead('cluster', 'delete', 'demo', '--yes')).toEqual(refused(/token:colleague is none/));
    expect(await colleague.fairlead('grant', 'list')).toEqual(refused(/grant list --mine/));
    expect(await succeeds(colleague.fairlead('grant', 'list', '--mine'))).toContain('view, in default');
  });

  it('reads there what the grant says, and nothing beside it, through both gateways', async () => {
    for (const gateway of GATEWAYS) {
      const shown = await succeeds(colleague.kubectl(gateway, 'get', 'configmaps', '-o', 'name'));
      expect(shown).toContain('configmap/shown');
      expect(await colleague.kubectl(gateway, 'get', 'configmaps', '-A')).toEqual(refused(/forbidden/i));
    }
    const beyond = [
      ['get', 'configmaps', '-n', 'other'],
      ['get', 'nodes'],
      ['get', 'configmaps', '--as', 'corp:bob'],
    ];
    // RBAC of the cluster: view neither writes nor reads secrets.
    const more = [
      ['delete', 'configmap', 'shown'],
      ['get', 'secrets'],
    ];
    for (const args of [...beyond, ...more]) {
      expect(await colleague.kubectl('gateway-a', ...args)).toEqual(refused(/forbidden/i));
    }
  });

  it('asks kubectl what they may do, and is told the truth', async () => {
    const canI = async (...request: string[]): Promise<string> =>
      (await colleague.kubectl('gateway-a', 'auth', 'can-i', ...request)).stdout.trim();
    expect(await canI('list', 'configmaps')).toBe('yes');
    // Beyond the grant, and beyond the role.
    expect(await canI('list', 'configmaps', '-n', 'other')).toMatch(/^no - fairlead: /);
    expect(await canI('delete', 'configmaps')).toBe('no');
    const listed = await succeeds(colleague.kubectl('gateway-a', 'auth', 'can-i', '--list'));
    expect(listed).toMatch(/^configmaps .* \[get list watch\]$/m);
    expect(await kubectl(stack, 'gateway-a', ['auth', 'can-i', '*', '*'])).toBe('yes\n');
  });

  it('has to carry what was signed for them: the cluster takes nobody by the word of a gateway', async () => {
    const shown = JSON.parse(await succeeds(colleague.fairlead('credential', '--cluster', 'demo'))) as Shown;
    expect(shown.status.token).toMatch(/^[^~]+~[A-Za-z0-9_-]{1000,}$/);
    // As the command wrote them before there were any.
    const older = await colleague.withKubeconfig((text) => text.replace(/\n *- --cluster\n *- demo\n/, '\n'));
    expect(await older.kubectl('gateway-a', 'get', 'configmaps')).toEqual(
      refused(/access statement.*fairlead kubeconfig/),
    );
  });

  it('is told why, and by which grant', async () => {
    const why = async (...request: string[]): Promise<string> =>
      fairlead(stack, 'access', 'explain', 'token:colleague', 'demo', ...request);
    expect(await why('list', 'configmaps', '-n', 'default')).toMatch(
      /^allowed: .*\ngrant [0-9a-f-]{36}.*\n.*fairlead:view\n$/,
    );
    expect(await why('list', 'configmaps', '-n', 'other')).toMatch(/^refused: /);
    const own = await succeeds(colleague.fairlead('access', 'explain', 'me', 'demo', 'get', 'pods', '-n', 'default'));
    expect(own).toMatch(/^allowed: /);
    expect(await colleague.fairlead('access', 'explain', 'corp:alice', 'demo', 'get', 'pods')).toEqual(
      refused(/about others/),
    );
  });
});

describe('more, for a time', () => {
  const write = (name: string): Promise<CommandOutput> =>
    colleague.kubectl('gateway-b', 'create', 'configmap', name, '--from-literal=a=b');

  it('is asked for, approved by somebody else, and taken back', async () => {
    expect(await write('early')).toEqual(refused(/forbidden/i));
    const request = ['access', 'request', '--cluster', 'demo', '--role', 'edit', '-n', 'default', '--for', '10m'];
    await succeeds(colleague.fairlead(...request, '--reason', 'a note'));
    const id = (await fairlead(stack, 'access', 'requests', '-o', 'name')).trim();
    expect(await colleague.fairlead('access', 'approve', id)).toEqual(refused(/is none/));
    const approved = JSON.parse(await fairlead(stack, 'access', 'approve', id, '-o', 'json')) as { grantId: string };
    const told: string[] = [];
    await soon(async () => {
      const written = await write('note');
      told.push(written.stderr);
      expect(written).toMatchObject({ code: 0 });
    });
    // What they carried was signed before: whoever runs it again has another one, and does not wait for the end of that.
    expect(told.join('')).toMatch(
      /what is granted has changed since the credential was fetched.*run the command again/,
    );
    expect(await succeeds(colleague.fairlead('access', 'requests', '--state', 'all'))).toMatch(
      /approved +token:colleague/,
    );
    await fairlead(stack, 'grant', 'delete', approved.grantId, '--yes');
    await soon(async () => expect(await write(`late-${crypto.randomUUID()}`)).toEqual(refused(/forbidden/i)));
  });
});

it('is cut off in the middle of logs -f when the grant lapses, by the clock, while NATS is frozen', async () => {
  const SECONDS = 30;
  const tokenFile = join(stack.stateDir, 'brief.token');
  await fairlead(stack, 'api-token', 'create', 'brief', '--for', '1h', '--out', tokenFile);
  secretScan.issued.add('the API token of somebody for a moment', (await readFile(tokenFile, 'utf8')).trim());
  const endsMs = Date.now() + SECONDS * 1_000;
  const view = ['--role', 'view', '--namespace', 'default', '--cluster', 'demo', '--for', `${SECONDS}s`];
  await fairlead(stack, 'grant', 'create', '--token', 'brief', ...view, '--reason', 'reads a log');
  const brief = await eventually(() => logIn(stack, 'brief', tokenFile), { timeoutMs: SEEN_WITHIN_MS });
  const nats = stack.process('nats');
  await soon(async () => expect(await brief.kubectl('gateway-a', 'get', 'pods')).toMatchObject({ code: 0 }));
  await using logs = brief.watch('gateway-a', 'logs', '-f', 'hello');
  await logs.line(/./, SEEN_WITHIN_MS);
  nats.kill('SIGSTOP');
  try {
    expect(Date.now()).toBeLessThan(endsMs);
    await logs.ended(endsMs - Date.now() + SEEN_WITHIN_MS);
    expect(Date.now()).toBeGreaterThanOrEqual(endsMs - 1_000);
    expect(await brief.kubectl('gateway-a', 'logs', 'hello')).toMatchObject({ code: 1 });
  } finally {
    nats.kill('SIGCONT');
  }
});

describe('who is where now', () => {
  it('is seen by an administrator and by themselves, and ended', async () => {
    // What they carried was revoked with the grant that was deleted; whoever runs a command again has another one.
    await soon(async () =>
      expect(await colleague.kubectl('gateway-b', 'get', 'configmaps')).toMatchObject({ code: 0 }),
    );
    await using watch = colleague.watch('gateway-b', 'get', 'configmaps', '--watch', '-o', 'name');
    await watch.line(/configmap\/shown/, SEEN_WITHIN_MS);
    const seen = await fairlead(stack, 'session', 'list', '--user', 'token:colleague', '--kind', 'watch');
    expect(seen).toMatch(/ watch +token:colleague +demo +watch configmaps in the namespace "default" .* gateway-b /);
    expect(await succeeds(colleague.fairlead('session', 'list'))).toContain(' watch ');
    expect(await colleague.fairlead('session', 'end', '--kind', 'watch', '--yes')).toEqual(refused(/is none/));
    const id = (await fairlead(stack, 'session', 'list', '--kind', 'watch', '-o', 'name')).trim();
    await fairlead(stack, 'session', 'end', id, '--reason', 'enough', '--yes');
    await watch.ended(SEEN_WITHIN_MS);
    // Nothing was taken away.
    await succeeds(colleague.kubectl('gateway-b', 'get', 'configmaps'));
  });
});

describe('a lockdown', () => {
  it('shuts people out, cuts off what stands, says why, leaves the administrator in, and is lifted', async () => {
    await using watch = colleague.watch('gateway-a', 'get', 'configmaps', '--watch', '-o', 'name');
    await watch.line(/configmap\/shown/, SEEN_WITHIN_MS);
    await fairlead(stack, 'access', 'lockdown', 'demo', '--reason', 'a laptop was stolen', '--yes');
    await watch.ended(SEEN_WITHIN_MS);
    const read = (gateway: string): Promise<CommandOutput> => colleague.kubectl(gateway, 'get', 'configmap', 'shown');
    for (const gateway of GATEWAYS) {
      await soon(async () => expect(await read(gateway)).toEqual(refused(/a laptop was stolen/)));
      expect(await kubectl(stack, gateway, ['get', 'configmap', 'shown', '-o', 'name'])).toBe('configmap/shown\n');
    }
    expect(
      await fairlead(stack, 'access', 'explain', 'token:colleague', 'demo', 'get', 'configmaps', '-n', 'default'),
    ).toMatch(/^refused: .*(lock|stolen)/);
    await fairlead(stack, 'access', 'unlock', 'demo', '--yes');
    await soon(async () => expect(await read('gateway-b')).toMatchObject({ code: 0 }));
  });
});

it('a token that is revoked is nobody’s, at the doors and at the API', async () => {
  await fairlead(stack, 'api-token', 'revoke', 'colleague', '--yes');
  await soon(async () => expect(await colleague.kubectl('gateway-b', 'get', 'configmaps')).toMatchObject({ code: 1 }));
  await soon(async () => expect(await colleague.fairlead('whoami')).toEqual(refused(/refuses the token/)));
  // The grant that was deleted, and the token; whatever a gateway says, the agent takes neither.
  await soon(async () => expect(await lastHeard()).toMatchObject({ revoked: 2, locked: [] }));
});

// The last one: it leaves an installation that has been away.
it('the administrator gets in by what was signed beforehand while all but the gateways is away, and is heard', async () => {
  const administrator = await breakGlass(stack);
  const away = ['nats', 'access', 'api', 'audit', 'keys', 'registration', 'gitops'].map((name) => stack.process(name));
  for (const process of away) process.kill('SIGKILL');
  await Promise.all(away.map(({ exited }) => exited));
  for (const gateway of GATEWAYS) {
    expect(await administrator.kubectl(gateway, 'get', 'configmap', 'shown')).toMatchObject({ code: 0 });
    expect(await administrator.byTokenAlone(gateway, 'get', 'configmap', 'shown')).toEqual(refused(/access statement/));
    expect(await readFile(stack.process(gateway).logPath, 'utf8')).toContain('administrator.used');
  }
  const [nats, ...services] = away;
  await nats?.restart();
  await Promise.all(services.map((process) => process.restart()));
});
