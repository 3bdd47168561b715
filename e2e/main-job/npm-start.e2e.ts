import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { secretScan } from '../support/secret-scan/index.js';
import { scratchStateDir } from '../support/test-stack.js';
import { watchProcess, type Watch } from '../support/watching.js';

const ROOT = join(import.meta.dirname, '../..');
const SOON_MS = 60_000;
const BOOT_MS = 1_800_000;
/** Below the ports that the testbed picks from for what is told no port: one of those may not be one of ours. */
const [BASE, SECOND_BASE] = [11_000, 13_000];

interface Run {
  readonly child: ChildProcess;
  readonly watch: Watch;
  readonly stateDir: string;
}

const runs: Run[] = [];
const folders: string[] = [];
/** State directories that a whole run has lived in. */
const searched = new Set<string>();

/** What `npm start` runs once everything is compiled. In a process group of its own, as a shell would start it. */
function start(stateDir: string, base: number, ...args: string[]): Run {
  const command = [join(ROOT, 'apps/dev/dist/main.js'), '--state-dir', stateDir, '--port-base', String(base), ...args];
  const child = spawn(process.execPath, command, { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const run = { child, watch: watchProcess(child), stateDir };
  runs.push(run);
  return run;
}

async function folder(): Promise<string> {
  const dir = await scratchStateDir();
  folders.push(dir);
  return dir;
}

/** Resolves with the last line of the ready screen. What its processes show then is searched for secrets at the end. */
async function ready(run: Run): Promise<string> {
  const line = await Promise.race([
    run.watch.line(/Stop\s+Ctrl-C/, BOOT_MS),
    exitOf(run).then((code) => {
      throw new Error(`it ended with ${code} before it was ready:\n${run.watch.lines.join('\n')}`);
    }),
  ]);
  await secretScan.lookAt(run.stateDir);
  searched.add(run.stateDir);
  return line;
}

async function exitOf({ child }: Run): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  return new Promise((resolve) => child.once('exit', resolve));
}

/** What Ctrl-C does: the signal goes to the whole foreground group. */
async function interrupt(run: Run): Promise<number | null> {
  const exited = exitOf(run);
  if (run.child.exitCode === null && run.child.pid !== undefined) process.kill(-run.child.pid, 'SIGINT');
  return exited;
}

/** Processes that mention the state directory: everything of a run does, in its arguments or its environment. */
async function leftovers(stateDir: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['axeww', '-o', 'pid,args'], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').filter((line) => line.includes(stateDir) && !line.includes('ps axeww'));
}

/** The commands of the ready screen, as somebody would paste them. */
function printedCommands(run: Run): string[] {
  return run.watch.lines.map((line) => line.trim()).filter((line) => line.includes('/bin/kubectl --kubeconfig'));
}

async function paste(command: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: ROOT, timeout: 60_000 });
  secretScan.hear(`the output of ${command}`, `${stdout}\n${stderr}`);
  return stdout;
}

afterEach(async () => {
  for (const run of runs.splice(0)) {
    if (run.child.exitCode === null) await interrupt(run);
    secretScan.hear('the screen of npm start', run.watch.lines.join('\n'));
  }
});
afterAll(async () => {
  try {
    for (const dir of searched) await secretScan.finish(dir);
  } finally {
    for (const dir of folders) await rm(dir, { recursive: true, force: true });
  }
});

describe('npm start', () => {
  let stateDir: string;

  beforeAll(async () => {
    stateDir = await folder();
  });

  it('reaches its ready screen, its commands work as printed through each replica, and Ctrl-C leaves nothing', async () => {
    const run = start(stateDir, BASE);
    await ready(run);
    const commands = printedCommands(run);
    expect(commands).toHaveLength(3);
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
    expect(await interrupt(run)).toBe(0);
    await eventually(async () => expect(await leftovers(stateDir)).toEqual([]));
  });

  it('keeps clusters and identities over a restart, beside another run on other ports', async () => {
    const other = start(await folder(), SECOND_BASE, '--advertise', '127.0.0.2');
    const run = start(stateDir, BASE);
    await Promise.all([ready(run), ready(other)]);
    expect(await paste(printedCommands(run)[2] ?? '')).toContain('from: fairlead');
    const show = `${stateDir}/bin/fairlead cluster show demo -o json`;
    expect(JSON.parse(await paste(show))).toMatchObject({ generation: 1, presence: { state: 'online' } });
    // It listens for machines elsewhere too, who would reach it by the name it was given.
    expect(await readFile(join(other.stateDir, 'kubeconfig'), 'utf8')).toContain('https://127.0.0.2:');
    expect(await paste(printedCommands(other)[0] ?? '')).toContain('kube-system');
    // The other run's demo is another cluster: what was created here is not there.
    await expect(paste(printedCommands(other)[2] ?? '')).rejects.toThrow(/not found/i);
    expect(await Promise.all([interrupt(run), interrupt(other)])).toEqual([0, 0]);
    await eventually(async () =>
      expect([...(await leftovers(stateDir)), ...(await leftovers(other.stateDir))]).toEqual([]),
    );
  });

  it('starts a child that dies again, visibly', async () => {
    const run = start(stateDir, BASE);
    await ready(run);
    const gateway = (await leftovers(stateDir)).find((line) => /apps\/gateway\/.*main\.js/.test(line));
    process.kill(Number(gateway?.trim().split(' ')[0]), 'SIGKILL');
    await run.watch.line(/gateway-.*(died|ended|SIGKILL)/i, SOON_MS);
    await run.watch.line(/gateway-.*(again|restart)/i, SOON_MS);
    await eventually(() => paste(printedCommands(run)[0] ?? ''), { timeoutMs: 120_000 });
    await eventually(() => paste((printedCommands(run)[2] ?? '').replace('gateway-a', 'gateway-b')), {
      timeoutMs: 120_000,
    });
  });
});

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

  it('when another run has the folder', async () => {
    const dir = await folder();
    const first = start(dir, BASE, '--no-demo');
    await ready(first);
    const second = start(dir, SECOND_BASE, '--no-demo');
    expect(await exitOf(second)).not.toBe(0);
    await second.watch.line(/another run/, SOON_MS);
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
