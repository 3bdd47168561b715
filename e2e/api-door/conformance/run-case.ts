import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { readFile } from 'node:fs/promises';
import { signalIfThere } from '@fairlead/testing';

/** Then upstream's program ends the case itself, and cleans up behind it. */
const LIMIT_S = 240;
/** Then it is killed. */
const KILL_MS = 300_000;

/** How one case went by one way. */
export interface Outcome {
  readonly passed: boolean;
  /** `passed in 12 s`, or what went wrong. */
  readonly said: string;
  /** All that upstream's program said. */
  readonly log: string;
}

export interface CaseRun {
  /** Upstream's program of tests. */
  readonly program: string;
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly context: string;
  /** What stands before a command that is to run where pods and Services have addresses. */
  readonly enter: readonly string[];
  /** All that it says. */
  readonly logPath: string;
  /** Its cache and its home; nobody else's kubectl is looked at. */
  readonly home: string;
  readonly signal: AbortSignal;
}

/** Runs the one case of that name. Never rejects for what it does; one that upstream's program skips has not passed. */
export async function runCase(name: string, run: CaseRun): Promise<Outcome> {
  const started = performance.now();
  const code = await runProgram([...argsOf(run), `--ginkgo.focus=${escaped(name)}$`], run);
  const seconds = Math.round((performance.now() - started) / 1_000);
  const log = await readFile(run.logPath, 'utf8');
  const isOne = /^Ran 1 of \d+ Specs/mu.test(log) && /\b1 Passed\b/u.test(log) && /\b0 Failed\b/u.test(log);
  if (code === 0 && isOne) return { passed: true, said: `passed in ${seconds} s`, log };
  return { passed: false, said: `${code === null ? 'had to be killed' : reasonIn(log)} (${seconds} s)`, log };
}

function argsOf({ kubectl, kubeconfig, context }: CaseRun): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--context=${context}`,
    `--kubectl-path=${kubectl}`,
    '--provider=skeleton',
    '--num-nodes=1',
    '--allowed-not-ready-nodes=0',
    // Other cases come and go meanwhile; whoever made the cluster has seen to it that it is ready.
    '--minStartupPods=-1',
    '--disable-log-dump',
    `--ginkgo.timeout=${LIMIT_S}s`,
    '--ginkgo.no-color',
    '--ginkgo.v',
  ];
}

/** Its exit code; null if it had to be killed. What it started is in its group of processes and ends with it. */
async function runProgram(args: readonly string[], run: CaseRun): Promise<number | null> {
  run.signal.throwIfAborted();
  const [path = '', ...its] = [...run.enter, run.program, ...args];
  const env = { ...process.env, KUBECACHEDIR: run.home, KUBECONFIG: '/dev/null', TMPDIR: run.home };
  const child = spawn(path, its, { env, cwd: run.home, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const log = createWriteStream(run.logPath);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  const kill = (): void => {
    if (child.pid !== undefined) signalIfThere(-child.pid, 'SIGKILL');
  };
  const late = setTimeout(kill, KILL_MS);
  run.signal.addEventListener('abort', kill, { once: true });
  try {
    return await new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done));
  } finally {
    clearTimeout(late);
    run.signal.removeEventListener('abort', kill);
    // A kubectl that it left behind.
    kill();
    log.end();
    await finished(log);
  }
}

/** The first line that upstream marks as the failure; else how it ended. */
function reasonIn(log: string): string {
  const failed = /^\s*\[(?:FAILED|FAIL|TIMEDOUT|PANICKED|SKIPPED)\] (.+)$/mu.exec(log)?.[1];
  return failed ?? log.trim().split('\n').slice(-3).join(' ').slice(-300);
}

function escaped(name: string): string {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`);
}
