import { spawn } from 'node:child_process';
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { eventually, scratchDir } from '@fairlead/testing';
import { expect } from 'vitest';

/** The root of the samples of a receiver of webhooks. */
export const SAMPLES = resolve(import.meta.dirname, '../../../samples/webhook-receiver');
/** A process on a busy machine takes its time to start. */
const PATIENCE = { timeoutMs: 90_000 };

export interface ReceiverSample extends AsyncDisposable {
  readonly url: string;
  /** Events that it took for real. */
  events(): Record<string, unknown>[];
}

/** Runs a sample with these secrets until it is disposed of. */
export async function runReceiver(
  command: string,
  args: readonly string[],
  secrets: readonly string[],
): Promise<ReceiverSample> {
  const scratch = await scratchDir();
  const secretFile = scratch.file('secrets');
  await writeFile(secretFile, `${secrets.join('\n')}\n`, { mode: 0o600 });
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH, HOME, LISTEN: '127.0.0.1:0', WEBHOOK_SECRET_FILE: secretFile };
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (err += String(chunk)));
  const url = await eventually(() => {
    const [, address] = /listening on (\S+)/.exec(err) ?? [];
    if (address === undefined) throw new Error(`the sample does not listen yet: ${err}`);
    return `http://${address}/`;
  }, PATIENCE);
  return {
    url,
    events: () =>
      out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await scratch[Symbol.asyncDispose]();
    },
  };
}

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

interface Message {
  readonly id: string;
  readonly timestamp: number;
  readonly body: string;
}

function signed(secret: string, { id, timestamp, body }: Message): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
const messageOf = (said: Partial<Message> = {}): Message => ({
  id: `msg_${randomUUID()}`,
  timestamp: nowSeconds(),
  body: JSON.stringify({ id: randomUUID(), type: 'dev.fairlead.grant.created.v1', data: { name: 'ä' } }),
  ...said,
});

/** What every receiver of webhooks has to do, tried on one. */
export async function checkReceiver(command: string, ...args: string[]): Promise<void> {
  const [old, current] = [newSecret(), newSecret()];
  await using sample = await runReceiver(command, args, [old, current]);
  const post = async ({ id, timestamp, body }: Message, signature: string): Promise<number> => {
    const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
    const { url } = sample;
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(30_000) });
    await response.body?.cancel();
    return response.status;
  };
  const [first, second] = [messageOf(), messageOf()];
  expect(await post(first, signed(current, first))).toBe(204);
  // Again, as after an answer that was lost.
  expect(await post(first, signed(current, first))).toBe(204);
  // While a secret is being replaced: another version and an unknown secret beside it count for nothing.
  expect(await post(second, `v1a,AAAA ${signed(newSecret(), second)} ${signed(old, second)}`)).toBe(204);
  const forged = messageOf();
  expect(await post(forged, signed(newSecret(), forged))).toBe(401);
  expect(await post({ ...forged, body: forged.body.replace('grant', 'GRANT') }, signed(current, forged))).toBe(401);
  expect(await post({ ...forged, id: 'msg_other' }, signed(current, forged))).toBe(401);
  expect(await post(forged, '')).toBe(401);
  for (const offset of [-600, 600]) {
    const stale = messageOf({ timestamp: nowSeconds() + offset });
    expect(await post(stale, signed(current, stale))).toBe(401);
  }
  const large = messageOf({ body: 'x'.repeat(200_000) });
  expect(await post(large, signed(current, large)).catch(() => 'cut off')).not.toBe(204);
  const taken = [first, second].map(({ body }) => JSON.parse(body) as unknown);
  await eventually(() => expect(sample.events()).toEqual(taken), PATIENCE);
}
