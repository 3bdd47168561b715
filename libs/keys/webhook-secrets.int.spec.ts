import 'reflect-metadata';
import { createHmac, randomUUID } from 'node:crypto';
import { WebhookSecret } from '@fairlead/contracts';
import { beforeEach, expect, it } from 'vitest';
import { forgetSecrets } from './feature/forget-ended.js';
import { WebhookSecrets } from './feature/webhook-secrets.js';
import { keysOfEach, type KeysProcess } from './testing/keys-fixture.js';

let keys: KeysProcess;
let secrets: WebhookSecrets;
let subscriberId: string;
const fixture = keysOfEach(async () => {
  keys = await fixture.start();
  secrets = new WebhookSecrets({ database: keys.database, ca: keys.ca });
});
beforeEach(() => {
  subscriberId = randomUUID();
});

const message = { id: 'msg_1', timestamp: 1_700_000_000, payload: '{"a":"ä"}' };
const signedBy = (secret: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`msg_1.1700000000.${message.payload}`)
    .digest('base64')}`;
const sign = () => secrets.sign('default', subscriberId, message);
const count = async (): Promise<number> => {
  const [row] = (await keys.database.query('select count(*)::int as count from webhook_secrets')) as [
    { count: number },
  ];
  return row.count;
};

it('signs by a secret that it shows once, and keeps it sealed', async () => {
  const { secret } = await secrets.create('default', subscriberId);
  expect(WebhookSecret.parse(secret)).toBe(secret);
  expect(await sign()).toBe(signedBy(secret));
  const [row] = (await keys.database.query('select sealed_secret as sealed from webhook_secrets')) as [
    { sealed: Buffer },
  ];
  for (const clear of [Buffer.from(secret.slice(6)), Buffer.from(secret.slice(6), 'base64')]) {
    expect(row.sealed.includes(clear)).toBe(false);
  }
  // After a restart, too.
  expect(
    await new WebhookSecrets({ database: keys.database, ca: keys.ca }).sign('default', subscriberId, message),
  ).toBe(signedBy(secret));
  await expect(secrets.create('default', subscriberId)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  await expect(secrets.sign('shop', subscriberId, message)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('rotates: what was before signs beside it to its own end, and then the new one alone', async () => {
  const { secret: first } = await secrets.create('default', subscriberId);
  fixture.nowMs += 1_000;
  const { secret: second, previousUntil } = await secrets.rotate('default', subscriberId, 2);
  expect(Date.parse(previousUntil ?? '')).toBe(fixture.nowMs + 2 * 3_600_000);
  expect(await sign()).toBe(`${signedBy(second)} ${signedBy(first)}`);
  // The receiver may know the first one alone yet.
  fixture.nowMs += 1_000;
  const { secret: third } = await secrets.rotate('default', subscriberId, 1);
  expect(await sign()).toBe([third, second, first].map(signedBy).join(' '));
  fixture.nowMs += 3_600_000;
  expect(await sign()).toBe([third, first].map(signedBy).join(' '));
  fixture.nowMs += 3_600_000;
  expect(await sign()).toBe(signedBy(third));
  expect(await forgetSecrets({ database: keys.database, now: () => new Date(fixture.nowMs) })).toBe(2);
  expect(await count()).toBe(1);
});

it('lets so many sign at once and no more, and says when there is room; without an overlap the newest signs alone', async () => {
  const { secret } = await secrets.create('default', subscriberId);
  const made = [secret];
  for (const hours of [3, 1, 2, 168]) {
    fixture.nowMs += 1_000;
    made.unshift((await secrets.rotate('default', subscriberId, hours)).secret);
  }
  const signature = await sign();
  expect(signature).toBe(made.map(signedBy).join(' '));
  expect(signature.length).toBeLessThanOrEqual(256);
  const firstEndsAt = new Date(fixture.nowMs - 2_000 + 3_600_000).toISOString();
  const refused = secrets.rotate('default', subscriberId, 24);
  await expect(refused).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(refused).rejects.toThrow(firstEndsAt);
  expect(await sign()).toBe(signature);
  fixture.nowMs += 3_600_000;
  const { secret: sixth } = await secrets.rotate('default', subscriberId, 24);
  expect((await sign()).split(' ')).toContain(signedBy(made[0] ?? ''));
  expect(await count()).toBe(5);
  const { secret: last } = await secrets.rotate('default', subscriberId, 0);
  expect(await sign()).toBe(signedBy(last));
  expect(last).not.toBe(sixth);
});

it('destroys all of a subscriber, of that tenant alone, at once', async () => {
  await secrets.create('default', subscriberId);
  await secrets.rotate('default', subscriberId, 24);
  await sign();
  await secrets.destroy('shop', subscriberId);
  expect(await count()).toBe(2);
  expect(await secrets.list(undefined)).toMatchObject([{ tenantId: 'default', subscriberId }]);
  await secrets.destroy('default', subscriberId);
  await expect(sign()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await count()).toBe(0);
  await secrets.destroy('default', subscriberId);
  // Somebody has to be able to begin again.
  const { secret, previousUntil } = await secrets.rotate('default', subscriberId, 24);
  expect(previousUntil).toBeNull();
  expect(await sign()).toBe(signedBy(secret));
});
