import type { Command } from 'commander';
import type { Io } from '../io.js';
import { printAuthorities, printRotation } from '../output/ca-view.js';
import { printHint, printJson, printLines, printResult } from '../output/print.js';
import { CertificateAuthority } from '../session/answers.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

interface Stepping extends Confirmed {
  readonly force?: true;
}

/** One step: where it is asked for, and what is said about it. */
interface Step {
  readonly path: string;
  readonly question: string;
  readonly done: string;
  readonly next: string;
}

const HELP = `
A root is replaced in three steps, and nobody loses a connection for it:
  fairlead ca prepare    the next root is made, and made known to every replica and agent
  fairlead ca status     who has heard of it, and who is waited for
  fairlead ca activate   the next root signs from now on; agents replace their certificates within minutes
  fairlead ca retire     the old root is trusted no longer`;

const STEPS = {
  activate: {
    path: '/v1/ca/rotation/activation',
    question: 'Activate it although somebody may not trust the next root yet? They are cut off.',
    done: 'the next root is active',
    next: 'when all certificates are replaced (fairlead ca status): fairlead ca retire',
  },
  retire: {
    path: '/v1/ca/rotation/retirement',
    question: 'Retire the old root although somebody may still need it? They have to be imported again.',
    done: 'the old root is retired',
    next: 'clusters that were away for too long are imported again: fairlead cluster import <name>',
  },
} as const satisfies Record<string, Step>;

/** ca status, prepare, activate, retire, abort. */
export function addCaCommands(program: Command, io: Io): void {
  const ca = program
    .command('ca')
    .summary('look at the CA, replace its root')
    .description('Look at the CA of agents and gateways, and replace its root.')
    .addHelpText('after', HELP);
  ca.command('status')
    .summary('show roots, and how far a rotation is')
    .description('Show roots and issuing CAs, and how far a rotation is.')
    .addOption(outputOption('table', 'json'))
    .action((options: Printed) => status(io, options));
  ca.command('prepare')
    .summary('make the next root, and make it known')
    .description('Make the next root, and make it known to every replica and agent. Nothing is signed by it yet.')
    .addOption(outputOption('table', 'json'))
    .action((options: Printed) => prepare(io, options));
  addStep(ca, io, 'activate', 'sign by the next root from now on');
  addStep(ca, io, 'retire', 'trust the old root no longer');
  ca.command('abort')
    .summary('take a prepared root back')
    .description('Take a prepared root back. Only before it is activated.')
    .addOption(outputOption('table', 'json'))
    .action((options: Printed) => abort(io, options));
}

function addStep(ca: Command, io: Io, name: keyof typeof STEPS, summary: string): void {
  ca.command(name)
    .summary(summary)
    .description(
      `${summary[0]?.toUpperCase()}${summary.slice(1)}. Refused, with names, while somebody would be cut off.`,
    )
    .option('--force', 'go on although somebody is waited for: they are cut off')
    .option('--yes', 'with --force: do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((options: Stepping) => step(io, STEPS[name], options));
}

async function status(io: Io, { output }: Printed): Promise<void> {
  const ca = await withApi(io, (api) => api.ask(CertificateAuthority, '/v1/ca'));
  if (output === 'json') return printJson(io, ca);
  printAuthorities(io, ca);
  printRotation(io, ca);
}

async function prepare(io: Io, { output }: Printed): Promise<void> {
  const ca = await withApi(io, (api) => api.ask(CertificateAuthority, '/v1/ca/rotation', { method: 'POST' }));
  if (output === 'json') return printJson(io, ca);
  printLines(io, 'the next root is made, and is being made known');
  printHint(io, 'who has heard of it: fairlead ca status', 'then: fairlead ca activate');
}

async function abort(io: Io, { output }: Printed): Promise<void> {
  const ca = await withApi(io, (api) => api.ask(CertificateAuthority, '/v1/ca/rotation', { method: 'DELETE' }));
  printResult(io, output, ca, 'the prepared root is taken back');
}

async function step(io: Io, { path, question, done, next }: Step, options: Stepping): Promise<void> {
  const { force = false, yes, output } = options;
  if (force && !(await confirmed(io, question, yes))) return printLines(io, 'nothing changed');
  const ask = { method: 'POST', body: { force } } as const;
  const ca = await withApi(io, (api) => api.ask(CertificateAuthority, path, ask));
  if (output === 'json') return printJson(io, ca);
  printLines(io, done);
  printHint(io, next);
}
