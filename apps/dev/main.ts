import { once } from 'node:events';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '@fairlead/errors';
import { PortInUseError, StackError, prepareCredentials, startStack, type Stack } from '@fairlead/stack';
import { USAGE, loadConfig, type Config } from './config.js';
import { painter, terminalOn } from './screen/terminal.js';
import { parseLogLine } from './screen/log-line.js';
import { readyScreen } from './screen/ready-screen.js';
import { Reporter } from './screen/reporter.js';

const REPOSITORY = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
/** A process that does not end although it was asked and then killed must not hold the terminal. */
const STOP_DEADLINE_MS = 14_000;
const INTERRUPTED = 130;
const OTHER_PORT_BASE = 17_000;

class Interrupted extends Error {}

process.exitCode = await main();

async function main(): Promise<number> {
  let config: Config;
  try {
    config = loadConfig(process.argv.slice(2), process.env, process.stdout.isTTY);
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 2;
  }
  if (config.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const stateDir = config.stateDir === undefined ? join(REPOSITORY, '.fairlead') : resolve(config.stateDir);
  try {
    if (config.prepare) return await prepare(stateDir, config);
    return await run(config, stateDir);
  } catch (error) {
    if (error instanceof Interrupted) return INTERRUPTED;
    process.stderr.write(`${explain(error, config.portBase)}\n`);
    return 1;
  }
}

async function run(config: Config, stateDir: string): Promise<number> {
  const startedMs = performance.now();
  const paint = painter(config.colours);
  const columns = (): number => process.stdout.columns;
  const terminal = terminalOn(process.stdout, { paint, animated: config.terminal, columns });
  const reporter = new Reporter({ terminal, paint, verbose: config.verbose });
  const interrupted = interruption(() => reporter.stopping());
  const { portBase: basePort, demo, gitops, advertise, agentImage } = config;
  const stack = await startStack({
    stateDir,
    demo,
    gitops,
    // A pod is a shell on this machine, for whoever is let in.
    demoNode: advertise === undefined,
    // It asks nobody for a password.
    demoIssuer: advertise === undefined,
    log: reporter.show,
    signal: interrupted,
    ...(basePort === undefined ? {} : { basePort }),
    ...(advertise === undefined ? {} : { advertise }),
    ...(agentImage === undefined ? {} : { agentImage }),
  }).finally(() => terminal.settle());
  reporter.ready();
  const seconds = (performance.now() - startedMs) / 1_000;
  const { ownGitAuthority } = config;
  const shown = { folder: REPOSITORY, seconds, paint, advertise, ownGitAuthority };
  process.stdout.write(`${readyScreen(stack, shown)}\n`);
  if (!interrupted.aborted) await once(interrupted, 'abort');
  return stop(stack);
}

/** Aborts at the first Ctrl-C (or SIGTERM, SIGHUP). */
function interruption(say: () => void): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (!controller.signal.aborted) say();
      controller.abort(new Interrupted(signal));
    });
  }
  return controller.signal;
}

async function stop(stack: Stack): Promise<number> {
  const deadline = setTimeout(() => {
    for (const { pid } of stack.processes) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    process.stderr.write('some processes did not end in time and were killed\n');
    process.exit(1);
  }, STOP_DEADLINE_MS);
  await stack.stop();
  clearTimeout(deadline);
  process.stdout.write('everything is stopped\n');
  return 0;
}

async function prepare(stateDir: string, config: Config): Promise<number> {
  const prepared = await prepareCredentials(stateDir, config);
  const { natsConfigPath, postgresPasswordPath, postgresAccessPath, caPath, certificatePaths } = prepared;
  const paths = [natsConfigPath, postgresPasswordPath, postgresAccessPath, caPath, ...certificatePaths];
  process.stdout.write(paths.map((path) => `${path}\n`).join(''));
  return 0;
}

/** One line for a person; what the process that failed said last follows, because it is the reason. */
function explain(error: unknown, portBase: number | undefined): string {
  if (error instanceof PortInUseError) {
    const other = portBase === OTHER_PORT_BASE ? OTHER_PORT_BASE + 1_000 : OTHER_PORT_BASE;
    return `${error.message}: end what listens there, or choose other ports (npm start -- --port-base ${other})`;
  }
  if (!(error instanceof StackError)) return error instanceof Error ? (error.stack ?? error.message) : String(error);
  return [error.message, ...error.tail.map((line) => `  ${parseLogLine(line).text}`)].join('\n');
}
