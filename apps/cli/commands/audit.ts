import { setTimeout as sleep } from 'node:timers/promises';
import { FairleadError, oneLine } from '@fairlead/errors';
import { Option, type Command } from 'commander';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printJson, printLines, printList, printNotice } from '../output/print.js';
import { cellsOf } from '../audit/entry-cells.js';
import { EXPORT_FORMATS, exportLog, type ExportFormat } from '../audit/export-log.js';
import { tailLog } from '../audit/tail-log.js';
import { closed, lineWriter, newFile } from '../output/lines.js';
import { AuditEntry, AuditEntryList, AuditFeed, AuditProducerList } from '../session/audit-answers.js';
import { addAuditLogCommands } from './audit-log.js';
import { addAuditReconcile } from './audit-reconcile.js';
import { KINDS } from './session.js';
import { endTimeOrAge, entryCount, entryNumber, outputOption, timeOrAge, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

// Words of the contracts, which this program does not bring along; `words.spec.ts` compares them.
export const DOORS = ['kube-api', 'connect', 'egress'];
export const ENTRY_KINDS = [
  'passage',
  'event',
  'lost',
  'gap',
  'rules',
  'handshakes',
  'unknown',
  'unreadable',
  'retention',
  'begun-anew',
];

const SEARCH_HELP = `
Newest first. Times are like 2026-03-01T08:00:00Z, a day in UTC, or an age: 30m, 8h, 7d, 2w. --since 2026-03-01 is from its beginning, --until 2026-03-01 with
that day included.

Examples:
  fairlead audit search --since 7d --cluster prod --kind exec         # who exec'ed into production last week?
  fairlead audit search --since 24h --refused anywhere                # who was turned away, by a gateway, an agent or a cluster?
  fairlead audit search --id 018f6f2e-7c1a-7b3e-9d55-2f1f0a4c9e11     # what was the request that was answered with this Audit-Id?
  fairlead audit search --proof 4f1c09aa --since 30d                  # what was done with this token or certificate?
  fairlead audit search --user corp:alice --verb delete -n shop
  fairlead audit search --type grant.created --since 30d              # who let whom in?
  fairlead audit search --entry gap                                   # what is missing in this log?
  fairlead audit search --text 'cart secrets' -o json`;

const EXPORT_HELP = `
One entry in each line, oldest first. The last line says that it is whole, how many entries it has, and up to which number the log was read: keep that, and with --after
an export goes on behind it. Without that line it is not whole, and the exit status is not 0. Where the connection breaks off, it goes on by itself.
In CSV, a text that a spreadsheet would take for a formula has an apostrophe before it.

Examples:
  fairlead audit export --since 30d --out audit.ndjson
  fairlead audit export --format csv --kind exec --out shells.csv
  fairlead audit export --after 120394 | jq -c 'select(.number)'`;

interface Filter {
  readonly since?: string;
  readonly until?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly kind?: string;
  readonly verb?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly decision?: string;
  readonly refused?: string;
  readonly status?: number;
  readonly id?: string;
  readonly trace?: string;
  readonly address?: string;
  readonly proof?: string;
  readonly door?: string;
  readonly entry?: string;
  readonly type?: string;
  readonly text?: string;
}

/** audit search, show, tail, export, producers, verify, prove, save, reconcile. */
export function addAuditCommands(program: Command, io: Io): void {
  const audit = program.command('audit').summary('who did what').description('The audit log of the tenant.');
  addSearch(audit, io);
  audit
    .command('show <number>')
    .summary('show one entry, whole')
    .description('Show one entry of the log.')
    .addOption(outputOption('table', 'json'))
    .action((number: string, options: Printed) => show(io, number, options));
  filtered(audit.command('tail'))
    .summary('show what comes, as it comes')
    .description('Show entries as they come, until Ctrl-C.')
    .option('--after <number>', 'begin behind this entry, not at the end of the log', entryCount)
    .addOption(outputOption('table', 'json'))
    .action((options: Filter & Printed & { after?: number }) => tail(io, options));
  filtered(audit.command('export'))
    .summary('write the log as lines of JSON, or as CSV')
    .description('Write the log, or a part of it, as lines of JSON or as CSV.')
    .option('--after <number>', 'only what is behind this entry', entryCount, 0)
    .addOption(new Option('--format <format>', 'of the lines').choices(EXPORT_FORMATS).default('ndjson'))
    .option('--out <file>', 'write it there, for you only, instead of showing it; the file must not be there yet')
    .addHelpText('after', EXPORT_HELP)
    .action((options: ExportOptions) => writeExport(io, options));
  audit
    .command('producers')
    .summary('how far the records of each gateway have come, and what is missing')
    .description('Show how far the records of each gateway have come, and which are missing.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => producers(io, options));
  addAuditLogCommands(audit, io);
  addAuditReconcile(audit, io);
}

function addSearch(audit: Command, io: Io): void {
  filtered(audit.command('search'))
    .summary('find entries, newest first')
    .description('Find entries of the log.')
    .option('--limit <count>', 'at most so many', entryCount, 50)
    .option('--after <number>', 'go on behind this entry, with those before it: `next` of an answer', (text) =>
      entryNumber(text),
    )
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', SEARCH_HELP)
    .action((options: Filter & Printed & SearchPage) => search(io, options));
}

function filtered(command: Command): Command {
  return command
    .option('--since <time>', 'only what happened then or later')
    .option('--until <time>', 'only what happened before then; 2026-12-01: that day included')
    .option('--id <id>', 'only what is about the request that was answered with this Audit-Id, or the event of this id')
    .option('--trace <id>', 'only what belongs to this trace')
    .option('--cluster <name>', 'only what was about this cluster; by its id, also events that do not name it')
    .option('--user <name>', 'only what this user, client or agent did')
    .option('--address <address>', 'only what came from there')
    .option('--proof <id>', 'only what was done by this token or login (its id) or certificate (its serial number)')
    .option('--kind <kind>', `of requests: ${KINDS.join(', ')}`)
    .option('--verb <verb>', 'of requests: get, list, create, delete, …')
    .option('--resource <plural>', 'of requests: pods, secrets, …')
    .option('-n, --namespace <name>', 'of requests')
    .addOption(new Option('--door <door>', 'of requests: the door they came to').choices(DOORS))
    .addOption(new Option('--decision <decision>', 'of requests, by the gateway').choices(['allowed', 'refused']))
    .addOption(
      new Option(
        '--refused <where>',
        'requests of who was turned away: at the door, beyond it (401 or 403 of the agent or the cluster), or anywhere',
      ).choices(['door', 'beyond', 'anywhere']),
    )
    .option('--status <code>', 'of requests: what they were answered with, such as 403', entryCount)
    .option('--type <type>', 'of events: grant.created, cluster.deleted, …')
    .addOption(new Option('--entry <kind>', 'only such entries').choices(ENTRY_KINDS))
    .option('--text <words>', 'only where all of these words stand');
}

interface SearchPage {
  readonly limit: number;
  readonly after?: number;
}

async function search(
  io: Io,
  { output, limit, after: begin, ...filter }: Filter & Printed & SearchPage,
): Promise<void> {
  const entries: AuditEntry[] = [];
  const next = await withApi(io, async (api) => {
    for (let after = begin; ;) {
      const query = queryOf(io, filter, { after, limit: Math.min(200, limit - entries.length) });
      const page = await api.ask(AuditEntryList, `/v1/audit/entries?${query}`);
      entries.push(...page.entries);
      after = page.next;
      if (after === undefined || entries.length >= limit) return after;
    }
  });
  if (entries.length === 0) await tellNothing(io);
  if (output === 'json') return printJson(io, { entries, ...(next === undefined ? {} : { next }) });
  printList(io, output, {
    list: { entries },
    name: ({ number }) => String(number),
    none: [],
    heading: ['NUMBER', 'TIME', 'USER', 'CLUSTER', 'WHAT', 'DECISION', 'BY'],
    row: cellsOf,
  });
  if (next !== undefined)
    printNotice(io, `there may be more: narrow it, ask for more with --limit, or go on with --after ${next}`);
}

/** No entry is an answer, too, if it is known of what. */
async function tellNothing(io: Io): Promise<void> {
  const { size } = await withApi(io, (api) => api.ask(AuditFeed, '/v1/audit/feed?limit=1'));
  const said = `no entries: the log was read up to ${size}, and nothing in it is what was asked for`;
  printNotice(io, `${said}; names are not looked up, so see that they are right`);
}

async function show(io: Io, given: string, { output }: Printed): Promise<void> {
  const number = entryNumber(given);
  const asked = withApi(io, (api) => api.ask(AuditEntry, `/v1/audit/entries/${number}`));
  const entry = await asked.catch((error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== 'NOT_FOUND') throw error;
    throw failure('NOT_FOUND', error.message, 'see which there are: fairlead audit search', error);
  });
  if (output === 'json') return printJson(io, entry);
  const { body, ...said } = entry;
  const lines = Object.entries(said).filter(([, value]) => value !== '');
  printLines(io, ...lines.map(([name, value]) => `${name}: ${oneLine(String(value))}`), JSON.stringify(body, null, 2));
}

async function tail(io: Io, { output, after, ...filter }: Filter & Printed & { after?: number }): Promise<void> {
  const stdout = lineWriter(io.stdout);
  const query = queryOf(io, filter, {});
  await tailLog({
    withApi: (use) => withApi(io, use),
    query,
    after,
    onEntry: (entry) =>
      output === 'json' ? stdout(JSON.stringify(entry)) : stdout(cellsOf(entry).map(oneLine).join('  ')),
    onLost: (error) => printNotice(io, `${error.message}; connecting again`),
    sleep,
  });
}

interface ExportOptions extends Filter {
  readonly after: number;
  readonly format: ExportFormat;
  readonly out?: string;
}

async function writeExport(io: Io, { after, format, out, ...filter }: ExportOptions): Promise<void> {
  const query = queryOf(io, filter, {});
  const file = out === undefined ? undefined : await newFile(out);
  const output = file ?? io.stdout;
  try {
    await exportLog({ withApi: (use) => withApi(io, use), query, after, format, write: lineWriter(output), sleep });
  } finally {
    if (file) await closed(file);
  }
}

async function producers(io: Io, { output }: Printed): Promise<void> {
  const { producers: listed } = await withApi(io, (api) => api.ask(AuditProducerList, '/v1/audit/producers'));
  if (output === 'json') return printJson(io, { producers: listed });
  printList(io, output, {
    list: { producers: listed },
    name: ({ producer }) => producer,
    none: ['no gateway has handed anything on yet'],
    heading: ['GATEWAY', 'EPOCH', 'UP TO', 'LAST', 'MISSING'],
    row: ({ producer, epoch, current, mark, lastAt, gaps, moreGaps }) => [
      producer,
      current ? epoch : `${epoch} (before)`,
      String(mark),
      ageText(lastAt, io.now()),
      gaps.map(({ from, to }) => `${from}-${to}`).join(', ') + (moreGaps > 0 ? `, and ${moreGaps} more` : ''),
    ],
  });
}

function queryOf(
  io: Io,
  { since, until, ...filter }: Filter,
  page: { readonly after?: number | undefined; readonly limit?: number },
): string {
  const from = since === undefined ? undefined : timeOrAge(since, io.now());
  const to = until === undefined ? undefined : endTimeOrAge(until, io.now());
  if (from !== undefined && to !== undefined && from >= to)
    throw usage(`--since ${since} is not before --until ${until}`, 'nothing is between them: turn them round');
  const said = Object.entries({ ...filter, from, to, ...page });
  return new URLSearchParams(
    Object.fromEntries(said.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))),
  ).toString();
}
