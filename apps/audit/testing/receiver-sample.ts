import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { eventually, runProgram, scratchDir } from '@fairlead/testing';
import { expect } from 'vitest';
import { signatureOf, type Signed } from './receiver.js';

/** The root of the samples of a receiver of webhooks. */
export const RECEIVERS = resolve(import.meta.dirname, '../../../samples/webhook-receiver');
/** A process on a busy machine takes its time to start. */
const PATIENCE = { timeoutMs: 90_000 };

export interface RunningReceiver extends AsyncDisposable {
  readonly url: string;
  /** Events that it took for real. */
  events(): Record<string, unknown>[];
}

/** Runs a sample with these secrets until it is disposed of. */
export async function runReceiver(
  command: string,
  args: readonly string[],
  secrets: readonly string[],
): Promise<RunningReceiver> {
  const scratch = await scratchDir();
  const secretFile = scratch.file('secrets');
  await writeFile(secretFile, `${secrets.join('\n')}\n`, { mode: 0o600 });
  const program = runProgram(command, args, { LISTEN: '127.0.0.1:0', WEBHOOK_SECRET_FILE: secretFile });
  const url = await eventually(() => {
    const [, address] = /listening on (\S+)/.exec(program.complaints()) ?? [];
    if (address === undefined) throw new Error(`the sample does not listen yet: ${program.complaints()}`);
    return `http://${address}/`;
  }, PATIENCE);
  return {
    url,
    events: () => program.printed(),
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
const messageOf = (said: Partial<Signed> = {}): Signed => ({
  id: `msg_${randomUUID()}`,
  timestamp: nowSeconds(),
  body: JSON.stringify({ id: randomUUID(), type: 'dev.fairlead.grant.created.v1', data: { name: 'ä' } }),
  ...said,
});

/** What a receiver answered to each, and how many events it took for real. */
export interface Tried {
  readonly answers: Readonly<Record<string, number>>;
  readonly events: number;
}

/** Of every receiver of webhooks. */
export const AS_IT_SHOULD: Tried = {
  answers: {
    'a message': 204,
    'the same again': 204,
    'one by the old secret, beside others': 204,
    'one by another secret': 401,
    'one with another body': 401,
    'one with another id': 401,
    'one without a signature': 401,
    'one of ten minutes ago': 401,
    'one of the future': 401,
  },
  events: 2,
};

/** Sends what is real and what is not to a sample. */
export async function tryReceiver(command: string, ...args: string[]): Promise<Tried> {
  const [old, current] = [newSecret(), newSecret()];
  await using sample = await runReceiver(command, args, [old, current]);
  const [first, second, forged] = [messageOf(), messageOf(), messageOf()];
  const [past, future] = [-600, 600].map((offset) => messageOf({ timestamp: nowSeconds() + offset })) as [
    Signed,
    Signed,
  ];
  const sent: readonly (readonly [what: string, message: Signed, signature: string])[] = [
    ['a message', first, signatureOf(current, first)],
    // As after an answer that was lost.
    ['the same again', first, signatureOf(current, first)],
    [
      'one by the old secret, beside others',
      second,
      `v1a,AA ${signatureOf(newSecret(), second)} ${signatureOf(old, second)}`,
    ],
    ['one by another secret', forged, signatureOf(newSecret(), forged)],
    ['one with another body', { ...forged, body: `${forged.body} ` }, signatureOf(current, forged)],
    ['one with another id', { ...forged, id: 'msg_other' }, signatureOf(current, forged)],
    ['one without a signature', forged, ''],
    ['one of ten minutes ago', past, signatureOf(current, past)],
    ['one of the future', future, signatureOf(current, future)],
  ];
  const answers: Record<string, number> = {};
  for (const [what, message, signature] of sent) answers[what] = await post(sample.url, message, signature);
  const taken = [first, second].map(({ body }) => JSON.parse(body) as unknown);
  await eventually(() => expect(sample.events()).toEqual(taken), PATIENCE);
  return { answers, events: sample.events().length };
}

async function post(url: string, { id, timestamp, body }: Signed, signature: string): Promise<number> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) });
  await response.body?.cancel();
  return response.status;
}
