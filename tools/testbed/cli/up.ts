import { spawn } from 'node:child_process';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from '../components/contract.js';
import { startKubernetes } from '../components/kubernetes.js';
import { startNats } from '../components/nats.js';
import { startPostgres } from '../components/postgres.js';
import { TestbedError } from '../errors.js';
import { identify, isRunning } from '../process/identity.js';
import { onInterrupt } from './interrupt.js';
import { readState, removeState, writeState, type UpState } from './state.js';

const LOG = 'up.log';

/**
 * Starts NATS, Postgres and Kubernetes on data in `dir` and prints their addresses as shell exports. In the foreground it runs until
 * it is interrupted or a server ends; detached it returns when all are ready.
 */
export async function up(dir: string, detach: boolean): Promise<void> {
  const root = resolve(dir);
  const running = await readState(root);
  if (running && (await isRunning(running.supervisor))) {
    throw new TestbedError(`already up in ${root} (pid ${running.supervisor.pid}); "down" ends it`);
  }
  await mkdir(root, { recursive: true, mode: 0o711 });
  await removeState(root);
  if (detach) await superviseElsewhere(root);
  else await supervise(root);
}

async function supervise(root: string): Promise<void> {
  const signal = onInterrupt();
  await using stack = new AsyncDisposableStack();
  const common = (name: string) => ({ dataDir: join(root, name), signal });
  const nats = stack.use(await startNats(common('nats')));
  const postgres = stack.use(await startPostgres(common('postgres')));
  const kubernetes = stack.use(await startKubernetes(common('kubernetes')));
  const variables = {
    NATS_URL: nats.info.url,
    DATABASE_URL: postgres.info.adminUrl,
    FAIRLEAD_TESTBED_KUBECONFIG: kubernetes.info.adminKubeconfigPath,
  };
  const supervisor = (await identify(process.pid))!;
  await writeState(root, { supervisor, variables });
  stack.defer(() => removeState(root));
  printExports(variables);
  const ended = await Promise.race([interrupted(signal), ...[nats, postgres, kubernetes].map(endOf)]);
  if (ended !== undefined && !signal.aborted) throw new TestbedError(ended);
}

function interrupted(signal: AbortSignal): Promise<undefined> {
  // An address from the environment starts no process, so something has to keep this one alive.
  const alive = setInterval(() => {}, 60_000);
  return new Promise((done) => {
    const end = () => {
      clearInterval(alive);
      done(undefined);
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

async function endOf(running: Running<unknown>): Promise<string> {
  const { code, signal } = await running.exited;
  return `a server ended (${signal ?? `code ${code}`}); its log is under the data directory`;
}

async function superviseElsewhere(root: string): Promise<void> {
  const log = await open(join(root, LOG), 'w', 0o600);
  const args = [...process.execArgv, process.argv[1]!, 'up', '--dir', root];
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', log.fd, log.fd] });
  await log.close();
  let ended = false;
  child.once('exit', () => (ended = true)).once('error', () => (ended = true));
  child.unref();
  let shown = 0;
  for (;;) {
    const text = await readFile(join(root, LOG), 'utf8');
    // The exports come once the state is there; until then the child speaks of what it starts.
    const state = await readState(root);
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(shown, end).split('\n'))
      if (line.startsWith('testbed: ')) process.stderr.write(`${line}\n`);
    shown = end;
    if (state) return report(state);
    if (ended) throw new TestbedError(`the servers did not start; see ${join(root, LOG)}`);
    await sleep(200);
  }
}

function report({ supervisor, variables }: UpState): void {
  process.stderr.write(`testbed: up (pid ${supervisor.pid}); "down" ends it\n`);
  printExports(variables);
}

function printExports(variables: UpState['variables']): void {
  for (const [name, value] of Object.entries(variables))
    console.log(`export ${name}='${value.replaceAll("'", `'\\''`)}'`);
}
