import type { Command } from 'commander';
import { HEAD } from '../audit/verify-whole-log.js';
import type { Io } from '../io.js';
import { printLines, printResult } from '../output/print.js';
import { AuditLogBegunAnew, AuditLogHead } from '../session/audit-log-answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, type Confirmed } from './option-values.js';
import { withApi } from './with-api.js';

const HELP = `
For a log of which the database lost its newest entries, because it was restored to an earlier point: \`keys\` signs nothing that does not go on
from what it signed before. First read docs/runbooks/audit-log-broken.md, and keep what there is.

The log gets another origin and goes on with the entries that are left. An entry of it has the last checkpoint of the log before, so that
everybody who verifies sees that entries went away, and how many. It cannot be undone, and hides nothing: what somebody changed in the entries
that are left is found by the checkpoints of before, as it was.

With --force also where the log goes on from what \`keys\` signed: a witness may have seen another one. Only administrators of the installation
may; of another tenant's log with --tenant.`;

/** A large log is looked through from end to end. */
const DEADLINE_MS = 30_000;

/** audit begin-anew */
export function addAuditBeginAnew(audit: Command, io: Io): void {
  audit
    .command('begin-anew')
    .summary('let a log that lost entries begin anew, under another origin')
    .description('Let a log that cannot go on begin anew, under another origin that is linked to the one before.')
    .option('--force', 'also where it goes on from what was signed')
    .option('--yes', 'do not ask')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', HELP)
    .action((options: Confirmed & { force?: true }) => beginAnew(io, options));
}

async function beginAnew(io: Io, { output, yes, force = false }: Confirmed & { force?: boolean }): Promise<void> {
  await withApi(io, async (api) => {
    const { origin, size } = await api.ask(AuditLogHead, HEAD);
    const question = `Let the log ${origin}, of which ${size} entries were signed, begin anew? It cannot be undone.`;
    if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing changed');
    const asked = { method: 'POST', body: { force }, deadlineMs: DEADLINE_MS } as const;
    const begun = await api.ask(
      AuditLogBegunAnew,
      `${itemPath('/v1/tenants', io.config.tenant ?? 'default')}/audit-log/begin-anew`,
      asked,
    );
    printResult(
      io,
      output,
      begun,
      `the log ${begun.origin} has begun, after ${begun.previous.origin} with ${begun.previous.size} signed entries`,
      `its first checkpoint is of ${begun.size} entries; witnesses have to be told of its key: ${begun.verifierKey}`,
    );
  });
}
