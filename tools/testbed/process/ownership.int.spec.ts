import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startNats } from '../components/nats.js';
import { firstLine, runSource } from '../fixtures/run-source.js';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { endProcess, identify, isRunning } from './identity.js';

beforeAll(() => vi.stubEnv('FAIRLEAD_TESTBED_PROVIDERS', 'path,download,go'));
afterAll(() => vi.unstubAllEnvs());

it('no server outlives a killed parent past the next start on its data', async () => {
  await using dir = await temporaryDirectory();
  const parent = runSource('fixtures/hold-servers.ts', [dir.path]);
  const pid = Number(await firstLine(parent));
  const orphan = (await identify(pid))!;
  parent.kill('SIGKILL');
  await new Promise((done) => parent.once('close', done));
  await using nats = await startNats({ dataDir: dir.path, log: () => {} });
  expect(await isRunning(orphan)).toBe(false);
  expect(nats.pid).not.toBe(pid);
});

it('refuses data that a live process uses, and names it', async () => {
  await using dir = await temporaryDirectory();
  const parent = runSource('fixtures/hold-servers.ts', [dir.path]);
  const pid = await firstLine(parent);
  await expect(startNats({ dataDir: dir.path, log: () => {} })).rejects.toThrow(
    `${dir.path} is in use: nats-server (pid ${pid}) runs on it, started by pid ${parent.pid}`,
  );
  const server = (await identify(Number(pid)))!;
  parent.kill('SIGKILL');
  await endProcess(server, 'SIGTERM', 5_000);
});

it('does not end a process that only has the recorded pid', async () => {
  await endProcess({ pid: process.pid, startTime: 'another time' }, 'SIGKILL', 0);
  expect(await isRunning((await identify(process.pid))!)).toBe(true);
});

it('is content if the process ends by itself before it is told to', async () => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const sleeper = (await identify(child.pid!))!;
  const kill = vi.spyOn(process, 'kill').mockImplementationOnce(() => {
    child.kill('SIGKILL');
    throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' });
  });
  await endProcess(sleeper, 'SIGTERM', 5_000).finally(() => kill.mockRestore());
  expect(await isRunning(sleeper)).toBe(false);
});

it('forgets a server that was stopped in order', async () => {
  await using dir = await temporaryDirectory();
  const nats = await startNats({ dataDir: dir.path, log: () => {} });
  expect(await readFile(join(dir.path, 'processes.json'), 'utf8')).toContain('nats-server');
  await nats.stop();
  await nats.stop();
  await expect(readFile(join(dir.path, 'processes.json'))).rejects.toThrow('ENOENT');
});
