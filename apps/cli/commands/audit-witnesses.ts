import type { Command } from 'commander';
import { HEAD } from '../audit/verify-whole-log.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printJson, printList, printNotice } from '../output/print.js';
import { AuditLogHead, AuditWitnessList } from '../session/audit-log-answers.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const HELP = `
As the audit service tells it. Whether they did is what \`fairlead audit verify --quorum\` verifies.

A witness that refuses has seen another log than the one that is here: docs/runbooks/audit-log-broken.md. One that does not know the log or its
key has to be told of them by whoever runs it: \`fairlead audit save\` writes the key.`;

/** audit witnesses */
export function addAuditWitnesses(audit: Command, io: Io): void {
  audit
    .command('witnesses')
    .summary('which witnesses have cosigned the log, and which are behind or refuse')
    .description(
      'Show what witnesses made of the log: what size each cosigned and when, and which are behind or refuse.',
    )
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', HELP)
    .action((options: Printed) => witnesses(io, options));
}

async function witnesses(io: Io, { output }: Printed): Promise<void> {
  const { size: signed, listed } = await withApi(io, async (api) => {
    const { witnesses: listed } = await api.ask(AuditWitnessList, '/v1/audit/log/witnesses');
    const { size } = await api.ask(AuditLogHead, HEAD);
    return { size, listed };
  });
  const shown = listed.map((witness) => ({ ...witness, behind: Math.max(0, signed - witness.size) }));
  if (shown.length === 0) printNotice(io, 'nobody is asked: FAIRLEAD_AUDIT_WITNESSES of the audit service names none');
  if (output === 'json') return printJson(io, { size: signed, witnesses: shown });
  printList(io, output, {
    list: { witnesses: shown },
    name: ({ name }) => name,
    none: [],
    heading: ['WITNESS', 'COSIGNED', 'WHEN', 'BEHIND BY', 'STATE', 'WHY'],
    row: ({ name, size, cosignedAt, behind, state, why }) => [
      name,
      size === 0 ? '' : String(size),
      cosignedAt === null ? '' : ageText(cosignedAt, io.now()),
      String(behind),
      { text: state, colour: state === 'refused' ? 'red' : state === 'cosigned' ? 'green' : 'yellow' },
      why,
    ],
  });
}
