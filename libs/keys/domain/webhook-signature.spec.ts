import { expect, it } from 'vitest';
import { newWebhookSecret, webhookSignature } from './webhook-signature.js';

it('signs as the reference libraries of Standard Webhooks do', () => {
  // Of their own tests: https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/python/tests/test_webhooks.py
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1_614_265_330, payload: '{"test": 2432232314}' };
  const known = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(webhookSignature([secret], message)).toBe(known);
  const both = webhookSignature([newWebhookSecret(), secret], message).split(' ');
  expect(both).toHaveLength(2);
  expect(both[1]).toBe(known);
});

it('makes secrets of 32 bytes, another one each time', () => {
  const [one, other] = [newWebhookSecret(), newWebhookSecret()];
  expect(Buffer.from(one.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
  expect(one).not.toBe(other);
});
