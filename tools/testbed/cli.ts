#!/usr/bin/env node
import { Command, Option } from 'commander';
import { down } from './cli/down.js';
import { fetchBinaries } from './cli/fetch.js';
import { status } from './cli/status.js';
import { up } from './cli/up.js';
import { messageOf } from './errors.js';

const DIR = '.fairlead-testbed';

const program = new Command('testbed')
  .description('Real components for development, tests and benchmarks')
  .showHelpAfterError();

program
  .command('status')
  .description('say for each component which provider would be used, and why others would not')
  .addOption(new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'))
  .action(({ output }: { output: 'text' | 'json' }) => status(output));

program
  .command('fetch')
  .description(
    'get binaries (those named, or all but those of the real node) so that nothing has to wait for them later',
  )
  .argument('[names...]', 'nats-server, etcd, kube-apiserver, kubectl')
  .action((names: string[]) => fetchBinaries(names));

program
  .command('up')
  .description('start NATS, Postgres and Kubernetes; Ctrl-C ends them')
  .option('--dir <path>', 'where their data is kept', DIR)
  .option('-d, --detach', 'leave them running; end them with "down"', false)
  .action(({ dir, detach }: { dir: string; detach: boolean }) => up(dir, detach));

program
  .command('down')
  .description('end what "up" started')
  .option('--dir <path>', 'where their data is kept', DIR)
  .action(({ dir }: { dir: string }) => down(dir));

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`testbed: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
