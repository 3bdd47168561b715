import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Script, serveScript, type ScriptedServices } from '@fairlead/api/testing';
import { startSecuredNats, type SecuredNats } from '@fairlead/messaging/testing';
import { freePort } from '@fairlead/testbed';
import { eventually as poll, scratchDir, testAuthority, type ScratchDir } from '@fairlead/testing';
import { Agent, request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';

const main = fileURLToPath(new URL('./dist/bundle/main.js', import.meta.url));
const api = { role: 'api', credential: 'api' } as const;

let scratch: ScratchDir;
let nats: SecuredNats;
let script: Script;
// A process on a busy machine takes its time to start.
const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> => poll(attempt, { timeoutMs: 90_000 });
const children: ChildProcess[] = [];
const services: ScriptedServices[] = [];

beforeAll(async () => {
  if (!existsSync(main)) throw new Error('build first: npm run build');
  scratch = await scratchDir();
  nats = await startSecuredNats(scratch.file('nats'));
  script = new Script(await testAuthority());
});

afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  for (const each of services.splice(0)) await each[Symbol.asyncDispose]();
});

afterAll(async () => {
  await nats?.[Symbol.asyncDispose]();
  await scratch?.[Symbol.asyncDispose]();
});

interface ApiProcess {
  readonly url: string;
  readonly health: string;
  /** Ends it as an orchestrator does; the exit code. */
  terminate(): Promise<number | null>;
  log(): string;
}

async function startProcess(env: Record<string, string> = {}): Promise<ApiProcess> {
  const [port, healthPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, [main], {
    env: {
      FAIRLEAD_NATS_URL: nats.server.info.url,
      FAIRLEAD_NATS_SEED_FILE: nats.seedFile(api),
      FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${healthPort}`,
      FAIRLEAD_API_LISTEN: `127.0.0.1:${port}`,
      FAIRLEAD_PUBLIC_URL: `https://127.0.0.1:${port}`,
      FAIRLEAD_API_SERVING_NAMES: '127.0.0.1',
      FAIRLEAD_API_GRACE_SECONDS: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += String(chunk)));
  return {
    url: `https://127.0.0.1:${port}`,
    health: `http://127.0.0.1:${healthPort}`,
    terminate: async () => {
      // Its last words come after it has ended, and before its streams have.
      const exited = once(child, 'close');
      child.kill('SIGTERM');
      return ((await exited) as [number | null])[0];
    },
    log: () => text,
  };
}

const readiness = async ({ health }: ApiProcess): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${health}/readyz`, { signal: AbortSignal.timeout(5_000) });
  return { status: response.status, text: await response.text() };
};

it('waits for keys, says so, serves once it has a certificate, and ends well', async () => {
  const running = await startProcess();
  await eventually(async () => expect(await readiness(running)).toMatchObject({ status: 503 }));
  await eventually(() => expect(running.log()).toContain('"event":"tls.not_issued"'));
  services.push(await serveScript(nats, script));
  await eventually(async () => expect(await readiness(running)).toMatchObject({ status: 200 }));
  await using stack = new AsyncDisposableStack();
  const ca = script.authority.root.certificatePem;
  const agent = stack.adopt(new Agent({ connect: { ca } }), (open) => open.close());
  const { statusCode, body } = await request(`${running.url}/readyz`, { dispatcher: agent });
  expect([statusCode, await body.json()]).toMatchObject([200, { ready: true }]);
  await eventually(async () => {
    const metrics = await (await fetch(`${running.health}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
    expect(metrics).toContain(
      'fairlead_api_request_duration_seconds_count{method="GET",route="/readyz",status="200"} 1',
    );
  });
  expect(await running.terminate()).toBe(0);
  expect(running.log()).toContain('"event":"api.stopping"');
});

it('goes on answering for as long as load balancers need to notice that it stops, and ends the connections', async () => {
  services.push(await serveScript(nats, script));
  const running = await startProcess({ FAIRLEAD_API_GRACE_SECONDS: '10' });
  await eventually(async () => expect(await readiness(running)).toMatchObject({ status: 200 }));
  await using stack = new AsyncDisposableStack();
  const ca = script.authority.root.certificatePem;
  const standing = stack.adopt(new Agent({ connect: { ca } }), (open) => open.close());
  const ask = async (dispatcher: Agent) => {
    const { statusCode, headers, body } = await request(`${running.url}/v1/clusters`, { dispatcher });
    await body.dump();
    return [statusCode, headers['connection']];
  };
  expect(await ask(standing)).toEqual([401, 'keep-alive']);
  const ended = running.terminate();
  await eventually(() => expect(running.log()).toContain('"event":"api.stopping"'));
  expect(await readiness(running)).toMatchObject({ status: 503 });
  // On a connection that stands, and on a new one.
  expect(await ask(standing)).toEqual([401, 'close']);
  const coming = stack.adopt(new Agent({ connect: { ca } }), (open) => open.close());
  expect(await ask(coming)).toEqual([401, 'close']);
  expect(await ended).toBe(0);
});

it('tells the root of its certificates to who may run a command where it runs', async () => {
  services.push(await serveScript(nats, script));
  const env = {
    FAIRLEAD_NATS_URL: nats.server.info.url,
    FAIRLEAD_NATS_SEED_FILE: nats.seedFile(api),
    FAIRLEAD_API_LISTEN: '127.0.0.1:0',
    FAIRLEAD_PUBLIC_URL: 'https://127.0.0.1:1',
    FAIRLEAD_API_SERVING_NAMES: '127.0.0.1',
  };
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'serving-root'], { env, timeout: 60_000 });
  expect(/-----BEGIN[^]*END CERTIFICATE-----\n/.exec(stdout)?.[0]).toBe(script.authority.root.certificatePem);
});

it('ends at once while it still waits', async () => {
  const running = await startProcess();
  await eventually(() => expect(running.log()).toContain('"event":"tls.not_issued"'));
  expect(await running.terminate()).toBe(0);
});

it('fails with one clear reason when its port is taken', async () => {
  services.push(await serveScript(nats, script));
  const first = await startProcess();
  await eventually(async () => expect(await readiness(first)).toMatchObject({ status: 200 }));
  const second = await startProcess({ FAIRLEAD_API_LISTEN: new URL(first.url).host });
  await eventually(() => expect(children.at(-1)?.exitCode).toBe(1));
  await eventually(() => expect(second.log()).toMatch(/"event":"process.failed"/));
  expect(second.log()).toContain('EADDRINUSE');
});
