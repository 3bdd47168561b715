import { InvalidArgumentError, type Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { refuseExisting } from '../output/refuse-existing.js';
import { allPages } from '../session/all-pages.js';
import { writePrivateFile } from '../session/login-store.js';
import { itemPath } from '../session/paths.js';
import { readPiped } from '../session/read-token.js';
import { CreatedSubscriber, DeadLetterList, RotatedSecret, Subscriber } from '../session/subscriber-answers.js';
import { durationSeconds, entryNumber, outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

/** Of the API. */
export const SUBSCRIBERS = '/v1/subscribers';
const MAX_URL_CHARACTERS = 2_048;

interface SecretOut extends Printed {
  readonly out?: string;
  readonly force?: true;
}

/** subscriber enable, dead-letters, redeliver. */
export function addWebhookCommands(subscriber: Command, io: Io): void {
  subscriber
    .command('enable <name>')
    .summary('deliver again to a webhook that was disabled')
    .description('Deliver again to a webhook that was disabled, from where it stood.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => enable(io, name, options));
  subscriber
    .command('dead-letters <name>')
    .summary('list messages to a webhook that were given up')
    .description('List messages to a webhook that were given up. `fairlead audit show NUMBER` shows what one says.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((name: string, options: Printed) => deadLetters(io, name, options));
  subscriber
    .command('redeliver <name> [numbers...]')
    .summary('deliver dead letters of a webhook after all')
    .description('Deliver dead letters of a webhook after all: those of these numbers, or all.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, numbers: string[], options: Printed) => redeliver(io, name, numbers, options));
}

/** `subscriber create --webhook`. */
export async function createWebhook(
  io: Io,
  name: string,
  options: SecretOut & { readonly types: readonly string[]; readonly webhook: string },
): Promise<void> {
  if (options.out !== undefined && !options.force) await refuseExisting(options.out);
  // A URL may be a secret, and an argument is for all to see.
  const isPiped = options.webhook === '-';
  const url = isPiped ? (await readPiped(io.stdin, 'URL', MAX_URL_CHARACTERS)).trim() : options.webhook;
  const body = { kind: 'webhook', name, types: options.types, url };
  const made = await withApi(io, (api) => api.ask(CreatedSubscriber, SUBSCRIBERS, { method: 'POST', body }));
  const { secret, ...subscriber } = made;
  await tellSecret(io, options, secret ?? '', { subscriber });
  printHint(io, `messages are told to be real by this secret: see samples/ for how`);
}

/** How it does; nothing of a subscriber of another kind. */
export function webhookLines({ webhook }: Subscriber, now: Date): string[] {
  if (!webhook) return [];
  const { origin, state, disabledFor, behind, pending, dead, deliveredAt, lastError, lastErrorAt } = webhook;
  const failed = lastError === null ? 'none' : `${lastError} (${ageText(lastErrorAt ?? '', now)} ago)`;
  return [
    `called at     ${origin}`,
    `state         ${disabledFor === null ? state : `${state}: ${WHY[disabledFor] ?? disabledFor}`}`,
    `last told     ${deliveredAt === null ? 'never' : `${ageText(deliveredAt, now)} ago`}`,
    `behind        ${behind} entries, and ${pending} messages on their way`,
    `dead letters  ${dead}`,
    `last failure  ${failed}`,
  ];
}

const WHY: Readonly<Record<string, string>> = {
  GONE: 'it answered 410 Gone',
  QUOTA_EXCEEDED: 'it has as many dead letters as there may be',
  NOT_FOUND: 'it has no secret; give it one by: fairlead subscriber rotate',
};

/** `subscriber rotate` of a webhook. */
export async function rotateSecret(
  io: Io,
  name: string,
  options: SecretOut & { readonly overlap: string },
): Promise<void> {
  const body = { overlapHours: overlapHours(options.overlap) };
  const path = itemPath(SUBSCRIBERS, name, 'secret-rotation');
  const { secret, previousUntil } = await withApi(io, (api) => api.ask(RotatedSecret, path, { method: 'POST', body }));
  await tellSecret(io, options, secret, { previousUntil });
  if (previousUntil !== null) printHint(io, `the old secret signs, too, until ${previousUntil}`);
}

async function enable(io: Io, name: string, { output }: Printed): Promise<void> {
  const path = itemPath(SUBSCRIBERS, name, 'enablement');
  const enabled = await withApi(io, (api) => api.ask(Subscriber, path, { method: 'POST' }));
  printResult(io, output, enabled, `subscriber ${name} is delivered to`);
}

async function deadLetters(io: Io, name: string, { output }: Printed): Promise<void> {
  const path = itemPath(SUBSCRIBERS, name, 'dead-letters');
  const letters = await withApi(io, (api) => allPages(api, DeadLetterList, path, (page) => page.deadLetters));
  printList(io, output, {
    list: { deadLetters: letters },
    name: ({ number }) => String(number),
    none: ['no dead letters'],
    heading: ['ENTRY', 'ATTEMPTS', 'AGE', 'WHY'],
    row: ({ number, attempts, lastAt, error }) => [
      String(number),
      String(attempts),
      lastAt === null ? '' : ageText(lastAt, io.now()),
      error ?? '',
    ],
  });
}

async function redeliver(io: Io, name: string, numbers: readonly string[], { output }: Printed): Promise<void> {
  const path = itemPath(SUBSCRIBERS, name, 'redelivery');
  const body = {
    numbers:
      numbers.length === 0 ? null : numbers.map((each) => entryNumber(each, 'see: fairlead subscriber dead-letters')),
  };
  const done = await withApi(io, (api) =>
    api.ask(z.looseObject({ count: z.number() }), path, { method: 'POST', body }),
  );
  printResult(io, output, done, `${done.count} messages are delivered again`);
}

/** Alone on standard output, so that it can be piped to where it is kept. */
async function tellSecret(io: Io, { out, output }: SecretOut, secret: string, besides: object): Promise<void> {
  if (out !== undefined) await writePrivateFile(out, `${secret}\n`);
  if (output === 'json') printJson(io, out === undefined ? { ...besides, secret } : { ...besides, secretFile: out });
  else printLines(io, out === undefined ? secret : `secret written to ${out}`);
}

function overlapHours(text: string): number {
  const seconds = durationSeconds(text);
  const hours = seconds / 3_600;
  if (!Number.isInteger(hours) || hours > 168)
    throw new InvalidArgumentError('Write whole hours, 0h to 168h, or days.');
  return hours;
}
