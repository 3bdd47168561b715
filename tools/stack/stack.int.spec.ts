// @tier full: e2e/main-job/npm-start reaches, kills, ends and starts again the same from outside; each file of e2e searches for secrets
import { chmodSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAMES, SINGLETONS } from '@fairlead/contracts';
import { isAlive } from '@fairlead/testbed/is-alive';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startStack, type Stack, type StackEvent } from './index.js';
import { baseEnvironment } from './process/base-environment.js';
import { runCommand } from './process/run-command.js';
import { REPOSITORY } from './state/repository.js';

const Shown = z.object({ id: z.uuid(), generation: z.int(), presence: z.object({ replicas: z.array(z.string()) }) });
const linux = process.platform === 'linux';

let scratch: ScratchDir;
let stack: Stack;
const events: StackEvent[] = [];

/** The agent runs from the very files that its image holds, in a tree that nobody may write to. */
function boot(): Promise<Stack> {
  const agentMain = scratch.file('image', 'apps', 'agent', 'dist', 'bundle', 'main.js');
  return startStack({ stateDir: scratch.file('state'), basePort: 0, agentMain, log: (event) => events.push(event) });
}

async function assembleAgent(): Promise<void> {
  const env = baseEnvironment();
  const script = join(REPOSITORY, 'tools', 'image', 'assemble.mjs');
  const assembled = await runCommand(process.execPath, [script, 'agent', scratch.file('image')], {
    env,
    timeoutMs: 240_000,
  });
  if (assembled.code !== 0) throw new Error(assembled.stderr);
  await runCommand('chmod', ['-R', 'a-w', scratch.file('image')], { env });
}

async function demoCluster(): Promise<z.infer<typeof Shown>> {
  const { stdout } = await stack.cli(['cluster', 'show', 'demo', '-o', 'json']);
  return Shown.parse(JSON.parse(stdout));
}

const getNamespaces = (context: string): Promise<unknown> =>
  stack.kubectl(['get', 'namespaces', '-o', 'name'], { context, timeoutMs: 60_000 });

beforeAll(async () => {
  scratch = await scratchDir();
  // The agent's user has to pass through.
  chmodSync(scratch.path, 0o755);
  await assembleAgent();
  stack = await boot();
});
afterAll(async () => {
  await stack?.stop();
  await runCommand('chmod', ['-R', 'u+w', scratch.file('image')], { env: baseEnvironment() });
  await scratch[Symbol.asyncDispose]();
});

describe('a stack', () => {
  it.each(['demo@gateway-a', 'demo@gateway-b'])('reaches the demo cluster through %s', async (context) => {
    expect(await getNamespaces(context)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('namespace/fairlead-system') as string,
    });
  });

  it('has its agent at one of the gateways only', async () => {
    await eventually(async () => expect((await demoCluster()).presence.replicas).toHaveLength(1));
  });

  it.runIf(linux && process.getuid?.() === 0)('runs its agent without rights on this machine', () => {
    const status = readFileSync(`/proc/${stack.process('agent-demo').pid}/status`, 'utf8');
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).toBe('65532');
  });

  it('refuses a second run in its state directory', async () => {
    await expect(boot()).rejects.toThrow(/another run \(process \d+\) uses/);
  });

  it.runIf(linux)('keeps secrets out of arguments and environments', () => {
    const folder = join(stack.stateDir, 'secrets');
    const secrets = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8').trim());
    expect(secrets.length).toBeGreaterThan(8);
    for (const { pid } of stack.processes) {
      for (const file of ['cmdline', 'environ']) {
        const text = readFileSync(`/proc/${pid}/${file}`, 'latin1');
        for (const secret of secrets) expect(text).not.toContain(secret);
      }
    }
  });

  it.runIf(linux)('tells every process that speaks to NATS or Postgres whom to trust', () => {
    expect(stack.nats).toEqual({ url: expect.stringMatching(/^tls:/) as string, caFile: expect.any(String) as string });
    const environment = (name: string): string => readFileSync(`/proc/${stack.process(name).pid}/environ`, 'latin1');
    for (const name of [...SINGLETONS, 'gateway-a', 'gateway-b']) {
      expect(environment(name)).toContain(`FAIRLEAD_NATS_CA_FILE=${stack.nats.caFile}`);
    }
    for (const name of SERVICE_NAMES) {
      expect(environment(name)).toContain(`FAIRLEAD_DATABASE_CA_FILE=${stack.nats.caFile}`);
    }
  });

  it('leaves a command logged in as the administrator, and does not mind what people do with that login', async () => {
    const command = (...args: string[]) => runCommand(stack.cliPath, args, { env: baseEnvironment() });
    expect(await command('cluster', 'list', '-o', 'name')).toMatchObject({ code: 0, stdout: 'demo\n' });
    expect(await command('logout')).toMatchObject({ code: 0 });
    expect(await command('cluster', 'list')).not.toMatchObject({ code: 0 });
    await demoCluster();
    expect(await getNamespaces('demo@gateway-a')).toMatchObject({ code: 0 });
  });

  it('starts again what was killed', async () => {
    const agent = stack.process('agent-demo');
    const before = agent.pid;
    agent.kill('SIGKILL');
    await eventually(() => expect(agent.pid).toSatisfy((pid) => pid !== undefined && pid !== before), {
      timeoutMs: 90_000,
    });
    await eventually(async () => expect(await getNamespaces('demo@gateway-a')).toMatchObject({ code: 0 }), {
      timeoutMs: 90_000,
    });
    expect(events).toContainEqual(expect.objectContaining({ kind: 'died', process: 'agent-demo', how: 'SIGKILL' }));
  });

  it('ends everything, and is the same after a restart', { timeout: 300_000 }, async () => {
    const cluster = await demoCluster();
    const pids = stack.processes.flatMap(({ pid }) => pid ?? []);
    expect(pids).toHaveLength(stack.processes.length);
    await stack.stop();
    expect(pids.filter(isAlive)).toEqual([]);
    stack = await boot();
    expect(await demoCluster()).toMatchObject({ id: cluster.id, generation: cluster.generation });
    expect(await getNamespaces('demo@gateway-b')).toMatchObject({ code: 0 });
  });
});

describe('a stack that cannot start', () => {
  it('names the port that is taken, and leaves nothing running', async () => {
    await using other = await scratchDir();
    const basePort = Number(new URL(stack.api.url).port) - 70;
    const starting = startStack({ stateDir: other.file('state'), basePort, demo: false });
    await expect(starting).rejects.toThrow(/port \d+ of 127.0.0.1 is in use, and .+ needs it/);
  });
});
