import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { freePort } from '@fairlead/testbed';
import { isAlive } from '@fairlead/testbed/is-alive';
import { eventually, scratchDir, type ScratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { nodeUnit, runToEnd } from './node-unit.js';
import type { Unit } from './unit.js';

const SERVER = `
  import { createServer } from 'node:http';
  createServer((request, response) => response.end('ready')).listen(Number(process.env.PORT), '127.0.0.1');
  console.log('listening');
`;
const signal = new AbortController().signal;

async function unitOf(scratch: ScratchDir, code: string, port: number): Promise<Unit> {
  const main = scratch.file('main.mjs');
  writeFileSync(main, code);
  return nodeUnit({
    name: 'thing',
    main,
    cwd: scratch.path,
    logPath: scratch.file('thing.log'),
    log: () => undefined,
    healthUrl: `http://127.0.0.1:${port}`,
    env: () => Promise.resolve({ PORT: String(port) }),
  });
}

it('waits until it is ready, and ends it', async () => {
  await using scratch = await scratchDir();
  const unit = await unitOf(scratch, SERVER, await freePort());
  const run = await unit.start(signal);
  await eventually(() => expect(unit.tail()).toEqual(['listening']));
  await run.stop();
  await expect(run.exited).resolves.toEqual({ code: null, signal: 'SIGTERM' });
  expect(isAlive(run.pid ?? 0)).toBe(false);
});

it('tells the last words of a process that crashed before it was ready', async () => {
  await using scratch = await scratchDir();
  const unit = await unitOf(scratch, `console.error('no such database'); process.exit(3);`, await freePort());
  await expect(unit.start(signal)).rejects.toMatchObject({
    message: `thing ended (code 3) before it was ready; its log is ${scratch.file('thing.log')}`,
    tail: ['no such database'],
  });
});

it('leaves nothing running when the start is given up', async () => {
  await using scratch = await scratchDir();
  const unit = await unitOf(scratch, `console.log(process.pid); setInterval(() => {}, 1000);`, await freePort());
  const abort = new AbortController();
  const starting = unit.start(abort.signal);
  await eventually(() => expect(unit.tail()).toHaveLength(1));
  abort.abort(new Error('never mind'));
  await expect(starting).rejects.toThrow('never mind');
  expect(isAlive(Number(unit.tail()[0]))).toBe(false);
});

it('ends when the one who started it is killed', async () => {
  await using scratch = await scratchDir();
  writeFileSync(scratch.file('child.mjs'), 'setInterval(() => {}, 1000);');
  const preload = new URL('./exit-with-parent.ts', import.meta.url).href;
  const parent = `
    import { spawn } from 'node:child_process';
    const args = ['--import', ${JSON.stringify(preload)}, ${JSON.stringify(scratch.file('child.mjs'))}];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], detached: true });
    console.log(child.pid);
  `;
  writeFileSync(scratch.file('parent.mjs'), parent);
  const running = spawn(process.execPath, [scratch.file('parent.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = (await once(running.stdout, 'data')) as [Buffer];
  const child = Number(chunk.toString());
  expect(isAlive(child)).toBe(true);
  running.kill('SIGKILL');
  await eventually(() => expect(isAlive(child)).toBe(false));
});

it('runs a command to its end', async () => {
  await using scratch = await scratchDir();
  writeFileSync(scratch.file('fail.mjs'), `console.log('because'); process.exitCode = 2;`);
  const options = {
    name: 'migrate',
    main: scratch.file('fail.mjs'),
    cwd: scratch.path,
    logPath: scratch.file('migrate.log'),
    log: () => undefined,
    env: () => Promise.resolve({}),
  };
  await expect(runToEnd(options, 60_000)).rejects.toMatchObject({ tail: ['because'] });
  expect(readFileSync(scratch.file('migrate.log'), 'utf8')).toBe('because\n');
});
