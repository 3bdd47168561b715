import { Option, type Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printJson, printLines, printList, printResult } from '../output/print.js';
import { refuseExisting } from '../output/refuse-existing.js';
import { allPages } from '../session/all-pages.js';
import { writePrivateFile } from '../session/login-store.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { Subscriber, SubscriberList } from '../session/subscriber-answers.js';
import { outputOption, timeOrAge, type Confirmed, type Printed } from './option-values.js';
import { SUBSCRIBERS, addWebhookCommands, createWebhook, rotateSecret, webhookLines } from './subscriber-webhook.js';
import { withApi } from './with-api.js';

const CREATE_HELP = `
It is told of the events of this tenant: grant.created, grant.* for all of an area, * for all there are (docs/events.md).
Its key is made here and goes nowhere: the file is the only place that has it.

Examples:
  fairlead subscriber create siem --types 'grant.*,access-request.*,cluster.deleted'
  fairlead subscriber create archive --types '*' --out /etc/archive/nats.nk
  fairlead subscriber create chat --types 'access-request.*' --webhook https://hooks.example.com/fairlead --out chat.secret

A webhook is called by https, and each message is signed (https://www.standardwebhooks.com). Its secret is shown this once: to a file for you only with
--out, else to standard output. Where the URL itself is a secret, pipe it in: --webhook -`;

const ROTATE_HELP = `
The one before counts no more, and its connection is cut at once. Where the subscriber stands is kept. A webhook's messages have a signature
by the old secret, too, until --overlap is over; its new secret is shown this once, or written with --out.

Examples:
  fairlead subscriber rotate siem                # replaces siem.nk
  fairlead subscriber rotate siem --out new.nk
  fairlead subscriber rotate chat --overlap 2h --out chat.secret`;

const REPLAY_HELP = `
Times are like 2026-03-01T08:00:00Z, or an age: 30m, 8h, 7d, 2w; a number is one that a message has in the stream. What is kept is
told again: 30 days, and less where the stream is full. What is older is in the audit log: fairlead audit export. A webhook is told again
what is in the audit log; a number is that of an entry there.

Examples:
  fairlead subscriber replay siem --from 2h
  fairlead subscriber replay siem --from 120394`;

/** subscriber create, list, show, rotate, replay, remove, and those of webhooks. */
export function addSubscriberCommands(program: Command, io: Io): void {
  const subscriber = program
    .command('subscriber')
    .summary('tell programs outside of events as they happen')
    .description(
      'Who is told of the events of the tenant: over NATS, by a consumer of its own, or by a signed webhook.',
    );
  subscriber
    .command('create <name>')
    .summary('make a subscriber and its key')
    .description('Make a subscriber that fetches events over NATS, and its key; or a webhook, and its secret.')
    .addOption(typesOption())
    .option('--webhook <url>', 'call this URL instead; - reads it from standard input')
    .option(
      '--out <file>',
      'where to write its key (an nkey seed) or secret, for you only; a key to NAME.nk unless given',
    )
    .option('--force', 'replace the file if it is there')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CREATE_HELP)
    .action((name: string, options: CreateOptions) => create(io, name, options));
  subscriber
    .command('list')
    .alias('ls')
    .summary('list the subscribers')
    .description('List the subscribers.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  subscriber
    .command('show <name>')
    .summary('show what a subscriber connects with')
    .description('Show a subscriber, and what it connects with besides its key.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => show(io, name, options));
  subscriber
    .command('rotate <name>')
    .summary('give a subscriber another key or secret')
    .description('Make another key for a subscriber, or another secret for a webhook.')
    .option('--out <file>', 'where to write its key or secret, for you only; a key to NAME.nk unless given')
    .option('--overlap <duration>', "for so long a webhook's old secret signs, too: whole hours, 168h at most", '24h')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ROTATE_HELP)
    .action((name: string, options: RotateOptions) => rotate(io, name, options));
  subscriber
    .command('replay <name>')
    .summary('tell a subscriber again')
    .description('Tell a subscriber again what it was told before.')
    .requiredOption('--from <time-or-number>', 'from where on')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', REPLAY_HELP)
    .action((name: string, options: Printed & { from: string }) => replay(io, name, options));
  subscriber
    .command('remove <name>')
    .alias('rm')
    .summary('remove a subscriber')
    .description('Remove a subscriber: it is told nothing from then on, and its connection is cut.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => remove(io, name, options));
  addWebhookCommands(subscriber, io);
}

function typesOption(): Option {
  return new Option('--types <types>', 'of which events, with commas between: grant.created, grant.*, *')
    .argParser((text, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...text.split(',').map((each) => each.trim()),
    ])
    .makeOptionMandatory();
}

interface CreateOptions extends Printed {
  readonly types: readonly string[];
  readonly webhook?: string;
  readonly out?: string;
  readonly force?: true;
}

async function create(io: Io, name: string, options: CreateOptions): Promise<void> {
  const { types, webhook, out = `${name}.nk`, force, output } = options;
  if (webhook !== undefined) return createWebhook(io, name, { ...options, webhook });
  if (!force) await refuseExisting(out);
  // Loaded only here: see `connect`.
  const { newNkey } = await import('../subscriber/new-nkey.js');
  const { seed, publicKey } = newNkey();
  const body = { kind: 'nats', name, types, publicKey };
  const made = await withApi(io, (api) => api.ask(Subscriber, SUBSCRIBERS, { method: 'POST', body }));
  await writePrivateFile(out, `${seed}\n`);
  if (output === 'json') return printJson(io, { subscriber: made, seedFile: out });
  printLines(io, `subscriber ${name} made, its key is in ${out}`, '', ...connection(made));
}

interface RotateOptions extends Printed {
  readonly out?: string;
  readonly overlap: string;
}

async function rotate(io: Io, name: string, options: RotateOptions): Promise<void> {
  const { kind } = await withApi(io, (api) => api.ask(Subscriber, itemPath(SUBSCRIBERS, name)));
  if (kind === 'webhook') return rotateSecret(io, name, options);
  const { out = `${name}.nk`, output } = options;
  const { newNkey } = await import('../subscriber/new-nkey.js');
  const { seed, publicKey } = newNkey();
  const request = { method: 'PUT', body: { publicKey } } as const;
  const rotated = await withApi(io, (api) => api.ask(Subscriber, itemPath(SUBSCRIBERS, name, 'key'), request));
  await writePrivateFile(out, `${seed}\n`);
  if (output === 'json') return printJson(io, { subscriber: rotated, seedFile: out });
  printLines(io, `subscriber ${name} has another key, in ${out}`, '', ...connection(rotated));
}

async function replay(io: Io, name: string, { from, output }: Printed & { from: string }): Promise<void> {
  const number = /^\d{1,15}$/.test(from) ? Number(from) : undefined;
  const start = number === undefined ? { time: timeOrAge(from, io.now()) } : { number };
  const request = { method: 'POST', body: { from: start } } as const;
  const replayed = await withApi(io, (api) => api.ask(Subscriber, itemPath(SUBSCRIBERS, name, 'replay'), request));
  printResult(io, output, replayed, `subscriber ${name} is told again, from ${number ?? start.time} on`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const subscribers = await withApi(io, (api) =>
    allPages(api, SubscriberList, SUBSCRIBERS, (page) => page.subscribers),
  );
  printList(io, output, {
    list: { subscribers },
    name: ({ name }) => name,
    none: ['no subscribers yet', "next: fairlead subscriber create NAME --types 'grant.*'"],
    heading: ['NAME', 'KIND', 'TYPES', 'AGE'],
    row: (each) => [each.name, each.kind, each.types.join(','), ageText(each.createdAt, io.now())],
  });
}

async function show(io: Io, name: string, { output }: Printed): Promise<void> {
  const shown = await withApi(io, (api) => api.ask(Subscriber, itemPath(SUBSCRIBERS, name)));
  const lines = [
    `subscriber ${shown.name}, ${shown.kind}, told of ${shown.types.join(', ')}`,
    '',
    ...connection(shown),
    ...webhookLines(shown, io.now()),
  ];
  printResult(io, output, shown, ...lines);
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Remove the subscriber ${name}? What it was not told yet is forgotten.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing removed');
  await withApi(io, (api) => api.ask(z.null(), itemPath(SUBSCRIBERS, name), { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true }, `subscriber ${name} removed`);
}

function connection({ nats }: Subscriber): string[] {
  if (!nats) return [];
  return [
    `stream        ${nats.stream}`,
    `consumer      ${nats.consumer}`,
    `API prefix    ${nats.apiPrefix}`,
    `inbox prefix  ${nats.inboxPrefix}`,
  ];
}
