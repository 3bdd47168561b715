import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  endRunsAfterTests,
  exitOf,
  folder,
  interrupt,
  leftovers,
  paste,
  printedCommands,
  ready,
  start,
  type Run,
} from '../support/npm-start.js';

const SOON_MS = 60_000;
/** Below the ports that the testbed picks from for what is told no port: one of those may not be one of ours. */
const [BASE, SECOND_BASE] = [11_000, 13_000];

endRunsAfterTests();

/** For a shell's double quotes. */
const ASK_UNTIL_ANSWERED = `const ask = (left) => fetch('http://127.0.0.1:8080').then((answer) => answer.text()).then(console.log).catch((error) => {
  if (left === 0) throw error;
  setTimeout(ask, 500, left - 1);
}); void ask(60);`;

describe('npm start', () => {
  let stateDir: string;

  beforeAll(async () => {
    stateDir = await folder();
  });

  it('reaches its ready screen, its commands work as printed, its folder is its own, and Ctrl-C leaves nothing', async () => {
    const run = start(stateDir, BASE);
    await ready(run);
    const commands = printedCommands(run);
    expect(commands).toHaveLength(7);
    expect(commands.join(' ')).toContain('demo@gateway-a');
    expect(commands.join(' ')).toContain('demo@gateway-b');
    const [namespaces, created, read] = [
      await paste(commands[0] ?? ''),
      await paste(commands[1] ?? ''),
      await paste(commands[2] ?? ''),
    ];
    expect(namespaces).toContain('kube-system');
    expect(created).toContain('created');
    expect(read).toContain('from: fairlead');
    expect(await paste(`echo 'echo "in the pod $POD_IP"' | ${commands[3] ?? ''}`)).toMatch(/^in the pod 127\./);
    // It goes on until nobody reads it any more.
    expect(await paste(`${commands[4] ?? ''} | head -n 1`)).toMatch(/^up for \d+ s/);
    await paste(commands[5] ?? '');
    expect(await readFile(join(stateDir, 'hosts-of-pod'), 'utf8')).toBe(await readFile('/etc/hosts', 'utf8'));
    expect(await paste(throughForward(commands[6] ?? ''))).toContain('hello from the pod');
    const second = start(stateDir, SECOND_BASE, '--no-demo');
    expect(await exitOf(second)).not.toBe(0);
    await second.watch.line(/another run/, SOON_MS);
    expect(await interrupt(run)).toBe(0);
    await eventually(async () => expect(await leftovers(stateDir)).toEqual([]));
  });

  it('keeps clusters and identities over a restart, and starts a child that dies again, visibly', async () => {
    const run = start(stateDir, BASE);
    await ready(run);
    expect(await paste(printedCommands(run)[2] ?? '')).toContain('from: fairlead');
    const show = `${stateDir}/bin/fairlead cluster show demo -o json`;
    expect(JSON.parse(await paste(show))).toMatchObject({ generation: 1, presence: { state: 'online' } });
    await killedGatewayComesBack(run);
    expect(await interrupt(run)).toBe(0);
    await eventually(async () => expect(await leftovers(stateDir)).toEqual([]));
  });
});

/** What the pod answers through the port that a command forwards, which is ended then. */
function throughForward(command: string): string {
  const ask = `"${process.execPath}" -e "${ASK_UNTIL_ANSWERED}"`;
  return `${command} > /dev/null & ${ask}; code=$?; kill $!; exit $code`;
}

/** One of the two is killed: the run tells its death and its next start, and both serve. */
async function killedGatewayComesBack(run: Run): Promise<void> {
  const gateway = (await leftovers(run.stateDir)).find((line) => /apps\/gateway\/.*main\.js/.test(line));
  process.kill(Number(gateway?.trim().split(' ')[0]), 'SIGKILL');
  await run.watch.line(/gateway-.*(died|ended|SIGKILL)/i, SOON_MS);
  await run.watch.line(/gateway-.*(again|restart)/i, SOON_MS);
  const read = printedCommands(run)[2] ?? '';
  for (const command of [printedCommands(run)[0] ?? '', read.replace('gateway-a', 'gateway-b')]) {
    await eventually(() => paste(command), { timeoutMs: 120_000 });
  }
}

describe('npm start says in one line what stops it, and leaves nothing running', () => {
  /** Exit code not 0, one line on the way out that matches, and no process left. */
  async function failsWith(run: Run, pattern: RegExp): Promise<void> {
    const code = await exitOf(run);
    expect(code).not.toBe(0);
    expect(code).not.toBeNull();
    await run.watch.line(pattern, SOON_MS);
    await eventually(async () => expect(await leftovers(run.stateDir)).toEqual([]));
  }

  it('when a port is in use', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(BASE + 443, '127.0.0.1', () => resolve());
    });
    const { port } = server.address() as AddressInfo;
    await failsWith(start(await folder(), BASE, '--no-demo'), new RegExp(`${port}.*gateway-a.*|gateway-a.*${port}`));
    await new Promise((resolve) => void server.close(resolve));
  });

  it('when its folder cannot be made', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'a-file'), '');
    await failsWith(start(join(dir, 'a-file', 'state'), BASE, '--no-demo'), /a-file/);
  });

  it('when a child crashes before everything is ready', async () => {
    const dir = await folder();
    // Postgres finds a data directory that is none.
    await mkdir(join(dir, 'postgres', 'data'), { recursive: true });
    await mkdir(join(dir, 'secrets'), { recursive: true, mode: 0o700 });
    await writeFile(join(dir, 'secrets', 'master.key'), 'not a key', { mode: 0o600 });
    await failsWith(start(dir, BASE, '--no-demo'), /keys|postgres/i);
    expect(await readFile(join(dir, 'secrets', 'master.key'), 'utf8')).toBe('not a key');
  });
});
