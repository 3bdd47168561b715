import { oneLine } from '@fairlead/errors';
import type { Command } from 'commander';
import { examine, fromError } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { alreadySaid } from '../failure.js';
import type { Io } from '../io.js';
import { printJson, printLines, type Format } from '../output/print.js';
import { outputOption } from './option-values.js';
import { withApi } from './with-api.js';

const DOCTOR_HELP = `
It looks at the API, the cluster's enrolment, tokens and certificates, agents that wait, presence, links, versions, and asks the cluster's
API server for its version through each door. It changes nothing. What it cannot see is the cluster itself: there, run
  kubectl -n fairlead-system exec deploy/fairlead-agent -- node apps/agent/dist/bundle/main.js check
Exit status: 0 if nothing failed, 1 if something did, 2 for a wrong command line.`;

/** doctor. */
export function addDoctorCommand(program: Command, io: Io): void {
  program
    .command('doctor <cluster>')
    .summary('say what is wrong with a cluster’s connection')
    .description('Say what is wrong with a cluster’s connection, and what to do about it.')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', DOCTOR_HELP)
    .action((cluster: string, options: { output: Format }) => doctor(io, cluster, options));
}

/** Prints what it finds, as it finds it. */
async function doctor(io: Io, name: string, { output }: { output: Format }): Promise<void> {
  const findings: Finding[] = [];
  const take = (finding: Finding): void => {
    findings.push(finding);
    if (output !== 'json') printLines(io, ...linesOf(finding));
  };
  try {
    await withApi(io, async (api, login) => {
      for await (const finding of examine(io, api, login, name)) take(finding);
    });
  } catch (error) {
    // Not even a login: what can be said is said in the same form.
    take(fromError('api', 'login', error));
  }
  const failures = findings.filter(({ ok }) => !ok).length;
  const warnings = findings.filter(({ warning }) => warning).length;
  if (output === 'json') printJson(io, { ok: failures === 0, findings });
  else printLines(io, summary(failures, warnings, findings.length));
  if (failures > 0) throw alreadySaid();
}

function linesOf({ ok, warning, check, subject, detail, remedy }: Finding): string[] {
  const state = ok ? (warning ? 'warn' : 'ok  ') : 'FAIL';
  const first = `${state}  ${check.padEnd(11)}  ${oneLine(subject)}: ${oneLine(detail)}`;
  return remedy === undefined ? [first] : [first, `      ${'what to do'.padEnd(11)}  ${oneLine(remedy)}`];
}

function summary(failures: number, warnings: number, all: number): string {
  if (failures > 0) return `${failures} of ${all} failed`;
  return warnings > 0 ? `nothing failed; ${warnings} to look at` : 'all is well';
}
