import { writeFile } from 'node:fs/promises';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readConfig } from './config.js';

let scratch: ScratchDir;
let least: Record<string, string>;
beforeEach(async () => {
  scratch = await scratchDir();
  await writeFile(scratch.file('database.url'), 'postgres://audit:x@127.0.0.1/fairlead', { mode: 0o600 });
  least = {
    FAIRLEAD_NATS_URL: 'nats://127.0.0.1:4222',
    FAIRLEAD_NATS_SEED_FILE: scratch.file('nats.seed'),
    FAIRLEAD_DATABASE_URL_FILE: scratch.file('database.url'),
  };
});
afterEach(() => scratch[Symbol.asyncDispose]());

it('lets webhooks lead to the public internet alone, unless ranges are allowed', () => {
  const config = readConfig(least);
  expect(config.FAIRLEAD_WEBHOOK_ALLOWED_RANGES.has('10.0.0.1')).toBe(false);
  expect(config.FAIRLEAD_WEBHOOK_ALLOW_HTTP).toBe(false);
  const wider = readConfig({ ...least, FAIRLEAD_WEBHOOK_ALLOWED_RANGES: '10.20.0.0/16, fd00::/8' });
  const has = (address: string): boolean => wider.FAIRLEAD_WEBHOOK_ALLOWED_RANGES.has(address);
  expect(['10.20.1.1', 'fd00::1', '10.21.0.1', '127.0.0.1'].map(has)).toEqual([true, true, false, false]);
});

it('refuses what is no range', () => {
  const wrong = { ...least, FAIRLEAD_WEBHOOK_ALLOWED_RANGES: '10.20.0.0/16,localhost' };
  expect(() => readConfig(wrong)).toThrow('FAIRLEAD_WEBHOOK_ALLOWED_RANGES');
});
