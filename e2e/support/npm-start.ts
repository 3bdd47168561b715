import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach } from 'vitest';
import { secretScan } from './secret-scan/index.js';
import { scratchStateDir } from './test-stack.js';
import { watchProcess, type Watch } from './watching.js';

const ROOT = join(import.meta.dirname, '../..');
const BOOT_MS = 1_800_000;

/** One `npm start`. */
export interface Run {
  readonly child: ChildProcess;
  readonly watch: Watch;
  readonly stateDir: string;
}

const runs: Run[] = [];
const folders: string[] = [];
/** State directories that a whole run has lived in. */
const searched = new Set<string>();

/** What `npm start` runs once everything is compiled. In a process group of its own, as a shell would start it. */
export function start(stateDir: string, base: number, ...args: string[]): Run {
  const command = [join(ROOT, 'apps/dev/dist/main.js'), '--state-dir', stateDir, '--port-base', String(base), ...args];
  const child = spawn(process.execPath, command, { cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const run = { child, watch: watchProcess(child), stateDir };
  runs.push(run);
  return run;
}

/** A state directory that goes with the tests of this file. */
export async function folder(): Promise<string> {
  const dir = await scratchStateDir();
  folders.push(dir);
  return dir;
}

/** Resolves with the last line of the ready screen. What its processes show then is searched for secrets at the end. */
export async function ready(run: Run): Promise<string> {
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

/** Its exit code. */
export async function exitOf({ child }: Run): Promise<number | null> {
  if (child.exitCode !== null) return child.exitCode;
  return new Promise((resolve) => child.once('exit', resolve));
}

/** What Ctrl-C does: the signal goes to the whole foreground group. */
export async function interrupt(run: Run): Promise<number | null> {
  const exited = exitOf(run);
  if (run.child.exitCode === null && run.child.pid !== undefined) process.kill(-run.child.pid, 'SIGINT');
  return exited;
}

/** Processes that mention the state directory: everything of a run does, in its arguments or its environment. */
export async function leftovers(stateDir: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['axeww', '-o', 'pid,args'], { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split('\n').filter((line) => line.includes(stateDir) && !line.includes('ps axeww'));
}

/** The commands of the ready screen, as somebody would paste them. */
export function printedCommands(run: Run): string[] {
  return run.watch.lines.map((line) => line.trim()).filter((line) => line.includes('/bin/kubectl --kubeconfig'));
}

/** Runs it as a shell in the repository would. */
export async function paste(command: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { cwd: ROOT, timeout: 60_000 });
  secretScan.hear(`the output of ${command}`, `${stdout}\n${stderr}`);
  return stdout;
}

/** To be called once by a test file: ends what it started, and searches what was said for secrets. */
export function endRunsAfterTests(): void {
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
}
