import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { Reconciliation, type Named, type Reconciled } from '../audit/reconciliation.js';
import { readToldRequests, type ToldRequests } from '../audit/told-requests.js';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printResult } from '../output/print.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditFeed } from '../session/audit-answers.js';
import { durationSeconds, outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

/** Clocks of whoever wrote the file and of gateways may differ by this. */
const CLOCKS_DIFFER_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
const SAY_EVERY_MS = 1_000;
const NAMED_FOR_PEOPLE = 10;

const HELP = `
FILE has a line of JSON for each request that a program made:

  {"auditId":"0b0…","at":"2026-03-01T08:00:00.000Z","method":"PUT","path":"/clusters/…","status":200}

auditId is the header Audit-Id of the answer; status is null where none came. "required":false is for what nobody promised to have on record: reads, which no
gateway waits for, refusals, and all of it where gateways keep the audit as best they can. The log is read from the time of the first request to its end, once,
with 40 bytes of memory for each request; a file may have four million.

Said is how many answered requests are in the log once, with the status that the program saw; how many began, and nobody can say how they ended; which are missing,
which stand there twice, or with another status; and which requests of the same users in that time are not in the file. The exit status is 1 if a required
one is missing, one stands there twice or with another status, or an answer had no Audit-Id.

Examples:
  fairlead audit reconcile requests.ndjson --wait 1m      # a gateway hands on within seconds, if all is well
  fairlead audit reconcile requests.ndjson -o json`;

interface Options extends Printed {
  readonly wait: number;
}

export function addAuditReconcile(audit: Command, io: Io): void {
  audit
    .command('reconcile <file>')
    .summary('compare the log with what a program says it did')
    .description('Compare the audit log with a file of what a program says it did at the Kubernetes API door.')
    .option('--wait <time>', 'wait so long for what is still missing: 30s, 5m', durationSeconds, 0)
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => reconcile(io, file, options));
}

async function reconcile(io: Io, file: string, { output, wait }: Options): Promise<void> {
  const told = await readToldRequests(file);
  const found = await withApi(io, (api) => compare(io, api, told, wait));
  printResult(io, output, { ...found, from: timeOf(told.firstMs), to: timeOf(told.lastMs) }, ...linesFor(found));
  const wrong = wrongIn(found);
  if (wrong.length === 0) return;
  const next =
    'fairlead audit producers, and fairlead audit search --entry gap or lost, say what the log knows to be missing';
  throw failure('CONFLICT', `the audit log and ${file} differ: ${wrong.join(', ')}`, next);
}

async function compare(io: Io, api: ApiClient, told: ToldRequests, waitSeconds: number): Promise<Reconciled> {
  const comparing = new Reconciliation(told);
  const endMs = Date.now() + waitSeconds * 1_000;
  let [at, saidMs] = [await firstBehind(api, told.firstMs - CLOCKS_DIFFER_MS), 0];
  for (;;) {
    const page = await api.ask(AuditFeed, `/v1/audit/feed?after=${at}&limit=200`);
    for (const entry of page.entries) comparing.take(entry);
    at = page.next;
    if (Date.now() - saidMs >= SAY_EVERY_MS) {
      saidMs = Date.now();
      printHint(io, `${at} of ${page.size}`);
    }
    if (at < page.size) continue;
    if (Date.now() >= endMs || comparing.awaited === 0) return comparing.result();
    await sleep(LOOK_EVERY_MS);
  }
}

/** The number before the first entry of then or later: one question, for which the service looks at that time only. */
async function firstBehind(api: ApiClient, fromMs: number): Promise<number> {
  const query = new URLSearchParams({ after: '0', limit: '1', from: timeOf(fromMs) });
  const { entries, next } = await api.ask(AuditFeed, `/v1/audit/feed?${query.toString()}`);
  return entries[0] ? entries[0].number - 1 : next;
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString();
}

function linesFor(found: Reconciled): string[] {
  const { requests, noAnswer, once, unknown, unsettled, notKept, lost } = found;
  const notYet = unsettled > 0 ? `, ${unsettled} of which no entry says so yet` : '';
  return [
    `${requests} requests, ${noAnswer} without an answer`,
    `${once} are in the log once, as they were answered`,
    ...(unknown > 0 ? [`${unknown} began, and how they ended is unknown${notYet}`] : []),
    ...(notKept > 0 ? [`${notKept} that nobody promised to keep are not in the log`] : []),
    ...(lost > 0 ? [`${lost} records were lost, as gateways say in the log`] : []),
    ...named('missing', found.missing),
    ...named('in the log twice', found.twice),
    ...named('in the log with another status', found.otherStatus),
    ...named('in the log and not in the file', found.notInFile),
  ];
}

function named(what: string, { count, ids }: Named): string[] {
  if (count === 0) return [];
  const more = count > NAMED_FOR_PEOPLE ? [`  and ${count - NAMED_FOR_PEOPLE} more; -o json names a hundred`] : [];
  return [`${count} ${what}:`, ...ids.slice(0, NAMED_FOR_PEOPLE).map((id) => `  ${id}`), ...more];
}

function wrongIn({ missing, twice, otherStatus, unnamed }: Reconciled): string[] {
  const counts = [
    [missing.count, 'missing'],
    [twice.count, 'there twice'],
    [otherStatus.count, 'with another status'],
    [unnamed, 'answered without an Audit-Id'],
  ] as const;
  return counts.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
}
