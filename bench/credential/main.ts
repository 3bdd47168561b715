import { execFile } from 'node:child_process';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startStack, type Stack } from '@fairlead/stack';
import { scratchDir } from '@fairlead/testing';
import { parse, stringify } from 'yaml';
import { BenchError } from '../process/bench-error.js';

const ROUNDS = 31;
/** Files are in no cache yet. */
const WARM_UP = 3;
const WAYS = ['static', 'kept', 'fetched'] as const;
type Way = (typeof WAYS)[number];

await main();

/** One small read by kubectl through a door, as somebody with a plain token and as somebody with the credential plugin, in turns. */
async function main(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const scratch = owned.use(await scratchDir('fairlead-bench-credential-'));
  // Postgres may run as a user of its own: it passes through.
  await chmod(scratch.path, 0o711);
  const stack = owned.use(await startStack({ stateDir: join(scratch.path, 'state'), basePort: 0, restart: false }));
  const kubectl = kubectlOf(stack);
  const config = parse(await readFile(stack.kubeconfigPath, 'utf8')) as Kubeconfig;
  const byToken = await withToken(stack, config);
  const statements = statementsOf(config);
  const kubeconfigs: Record<Way, string> = {
    static: byToken,
    kept: stack.kubeconfigPath,
    fetched: stack.kubeconfigPath,
  };
  const took: Record<Way, number[]> = { static: [], kept: [], fetched: [] };
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const way of WAYS) {
      if (way === 'fetched') await rm(statements, { recursive: true });
      const ms = await kubectl(kubeconfigs[way]);
      if (round >= 0) took[way].push(ms);
    }
  }
  report(took);
}

/** How long a read takes, from the process's start to its end, in milliseconds. */
function kubectlOf({ kubectlBinary, stateDir }: Stack): (kubeconfig: string) => Promise<number> {
  if ('unavailable' in kubectlBinary) throw new BenchError(kubectlBinary.unavailable);
  const { path } = kubectlBinary;
  const env = { PATH: process.env.PATH, HOME: stateDir };
  return async (kubeconfig) => {
    const beganMs = performance.now();
    await promisify(execFile)(path, ['--kubeconfig', kubeconfig, 'get', '--raw', '/version'], { env });
    return performance.now() - beganMs;
  };
}

interface Kubeconfig {
  readonly users: readonly { readonly name: string; readonly user: { readonly exec: Exec } }[];
}

interface Exec {
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

/** Where the plugin of a kubeconfig keeps what was signed. */
function statementsOf({ users }: Kubeconfig): string {
  const home = users[0]?.user.exec.env.find(({ name }) => name === 'FAIRLEAD_HOME')?.value;
  if (home === undefined) throw new BenchError('the kubeconfig does not say where the plugin keeps its files');
  return join(home, 'statements');
}

/** The same kubeconfig, whose users show the administrator's token and run nothing. */
async function withToken({ api, stateDir }: Stack, config: Kubeconfig): Promise<string> {
  const token = (await readFile(api.adminTokenFile, 'utf8')).trim();
  const path = join(stateDir, 'static.kubeconfig');
  const users = config.users.map(({ name }) => ({ name, user: { token } }));
  await writeFile(path, stringify({ ...config, users }), { mode: 0o600 });
  return path;
}

function report(took: Record<Way, readonly number[]>): void {
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const p50 = (way: Way): number => [...took[way]].sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
  const line = (what: string, way: Way): string =>
    `${what}: ${p50(way).toFixed(0)} ms, ${(p50(way) - p50('static')).toFixed(0)} ms over a static token`;
  const lines = [
    `medians of ${ROUNDS}, in turns; ${availableParallelism()} cores, load average ${load}; Node ${process.version}`,
    `kubectl with a static token: ${p50('static').toFixed(0)} ms`,
    line('with the credential plugin, a statement is kept', 'kept'),
    line('with the credential plugin, a statement is fetched', 'fetched'),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
