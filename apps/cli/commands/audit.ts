import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printJson, printLines, printList, printNotice } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditEntry, AuditEntryList, AuditFeed, AuditProducerList } from '../session/audit-answers.js';
import { addAuditLogCommands } from './audit-log.js';
import { addAuditReconcile } from './audit-reconcile.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const LOOK_EVERY_MS = 1_000;
const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;

const SEARCH_HELP = `
Newest first. Times are like 2026-03-01T08:00:00Z, or an age: 30m, 8h, 7d, 2w.

Examples:
  fairlead audit search --since 7d --cluster prod --kind exec         # who exec'ed into production last week?
  fairlead audit search --since 24h --decision refused                # who was turned away?
  fairlead audit search --user corp:alice --verb delete -n shop
  fairlead audit search --type grant.created --since 30d              # who let whom in?
  fairlead audit search --entry gap                                   # what is missing in this log?
  fairlead audit search --text 'cart secrets' -o json`;

const EXPORT_HELP = `
One entry in each line, as JSON, oldest first. With --after it goes on behind a number: keep the last one.

Examples:
  fairlead audit export --since 30d > audit.ndjson
  fairlead audit export --after 120394 >> audit.ndjson`;

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
    .option('--after <number>', 'begin behind this entry, not at the end of the log', wholeNumber)
    .addOption(outputOption('table', 'json'))
    .action((options: Filter & Printed & { after?: number }) => tail(io, options));
  filtered(audit.command('export'))
    .summary('write the log as lines of JSON')
    .description('Write the log, or a part of it, as lines of JSON.')
    .option('--after <number>', 'only what is behind this entry', wholeNumber)
    .addHelpText('after', EXPORT_HELP)
    .action((options: Filter & { after?: number }) => exportLog(io, options));
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
    .option('--limit <count>', 'at most so many', wholeNumber, 50)
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', SEARCH_HELP)
    .action((options: Filter & Printed & { limit: number }) => search(io, options));
}

function filtered(command: Command): Command {
  return command
    .option('--since <time>', 'only what happened then or later')
    .option('--until <time>', 'only what happened before then')
    .option('--cluster <name>', 'only what was about this cluster')
    .option('--user <name>', 'only what this user, client or agent did')
    .option('--kind <kind>', 'of requests: request, watch, log, exec, attach, port-forward, proxy, tunnel, egress')
    .option('--verb <verb>', 'of requests: get, list, create, delete, …')
    .option('--resource <plural>', 'of requests: pods, secrets, …')
    .option('-n, --namespace <name>', 'of requests')
    .option('--door <door>', 'of requests: the door they came to')
    .addOption(new Option('--decision <decision>', 'of requests').choices(['allowed', 'refused']))
    .option('--type <type>', 'of events: grant.created, cluster.deleted, …')
    .addOption(
      new Option('--entry <kind>', 'only such entries').choices([
        'passage',
        'event',
        'lost',
        'gap',
        'unknown',
        'unreadable',
      ]),
    )
    .option('--text <words>', 'only where all of these words stand');
}

async function search(io: Io, { output, limit, ...filter }: Filter & Printed & { limit: number }): Promise<void> {
  const entries: AuditEntry[] = [];
  const next = await withApi(io, async (api) => {
    for (let after: number | undefined; ;) {
      const query = queryOf(io, filter, { after, limit: Math.min(200, limit - entries.length) });
      const page = await api.ask(AuditEntryList, `/v1/audit/entries?${query}`);
      entries.push(...page.entries);
      after = page.next;
      if (after === undefined || entries.length >= limit) return after;
    }
  });
  if (output === 'json') return printJson(io, { entries, ...(next === undefined ? {} : { next }) });
  printList(io, output, {
    list: { entries },
    name: ({ number }) => String(number),
    none: ['nothing is found'],
    heading: ['NUMBER', 'TIME', 'USER', 'CLUSTER', 'WHAT', 'DECISION', 'BY'],
    row: cellsOf,
  });
  if (next !== undefined) printNotice(io, `there may be more: narrow it, or ask for more with --limit`);
}

function cellsOf({ number, at, user, cluster, action, decision, source }: AuditEntry): string[] {
  return [String(number), at, user, cluster, action, decision, source];
}

async function show(io: Io, given: string, { output }: Printed): Promise<void> {
  const number = wholeNumber(given);
  const entry = await withApi(io, (api) => api.ask(AuditEntry, `/v1/audit/entries/${number}`));
  if (output === 'json') return printJson(io, entry);
  printLines(io, ...cellsOf(entry).filter((cell) => cell !== ''), JSON.stringify(entry.body, null, 2));
}

async function tail(io: Io, { output, after, ...filter }: Filter & Printed & { after?: number }): Promise<void> {
  await withApi(io, async (api) => {
    let at = after;
    for (;;) {
      const page = await feed(io, api, filter, at);
      for (const entry of page.entries) {
        if (output === 'json') writeLine(io, entry);
        else printLines(io, cellsOf(entry).join('  '));
      }
      at = page.next;
      if (page.next >= page.size) await sleep(LOOK_EVERY_MS);
    }
  });
}

async function exportLog(io: Io, { after = 0, ...filter }: Filter & { after?: number }): Promise<void> {
  await withApi(io, async (api) => {
    // What comes meanwhile is not waited for.
    const { size: end } = await feed(io, api, filter, undefined);
    for (let at = after; at < end;) {
      const page = await feed(io, api, filter, at);
      for (const entry of page.entries) writeLine(io, entry);
      at = page.next;
    }
  });
}

function feed(io: Io, api: ApiClient, filter: Filter, after: number | undefined) {
  return api.ask(AuditFeed, `/v1/audit/feed?${queryOf(io, filter, { after, limit: 200 })}`);
}

/** JSON in one line escapes what moves a cursor, but for the second block of control characters. */
function writeLine(io: Io, entry: AuditEntry): void {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  io.stdout.write(`${JSON.stringify(entry).replaceAll(/[\u007f-\u009f]/g, escaped)}\n`);
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
  page: { after: number | undefined; limit: number },
): string {
  const from = since === undefined ? undefined : timeOf(io, since);
  const to = until === undefined ? undefined : timeOf(io, until);
  const said = Object.entries({ ...filter, from, to, ...page });
  return new URLSearchParams(
    Object.fromEntries(said.flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))),
  ).toString();
}

function timeOf(io: Io, text: string): string {
  const age = /^(\d{1,5})([mhdw])$/.exec(text);
  const atMs = age
    ? io.now().getTime() - Number(age[1]) * UNITS_MS[age[2] as keyof typeof UNITS_MS]
    : /^\d{4}-\d{2}-\d{2}/.test(text)
      ? Date.parse(text)
      : Number.NaN;
  if (!Number.isNaN(atMs)) return new Date(atMs).toISOString();
  throw new InvalidArgumentError(`${text} is no time: write 2026-03-01T08:00:00Z, or an age such as 7d`);
}

function wholeNumber(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`${text} is no number`);
}
