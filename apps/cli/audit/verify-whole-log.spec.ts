import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { noteSigner, signCheckpoint, verifierKey } from '@fairlead/transparency-log';
import { LogInMemory, entries } from '@fairlead/transparency-log/testing';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiClient } from '../session/api-client.js';
import { HEAD, verifyWholeLog } from './verify-whole-log.js';

const ORIGIN = 'fairlead.test/audit/shop';
const key = generateKeyPairSync('ed25519').privateKey;
const logKey = verifierKey(ORIGIN, 'ed25519', key);

async function noteOf(size: number): Promise<string> {
  const { root } = new LogInMemory().append(entries(0, size));
  return (await signCheckpoint({ origin: ORIGIN, size, root }, [noteSigner(ORIGIN, key)])).toString('utf8');
}

let scratch: ScratchDir;
beforeEach(async () => {
  scratch = await scratchDir();
});
afterEach(() => scratch[Symbol.asyncDispose]());

/** A log that shows so many entries, and goes no further than that: whoever looks into it is past what was said of its size. */
function showing(size: number, onAsked: () => Promise<void> = async () => undefined): ApiClient {
  const ask = async (schema: { parse(value: unknown): unknown }, path: string): Promise<unknown> => {
    if (path !== HEAD) throw new Error('the entries are looked at');
    await onAsked();
    return schema.parse({ origin: ORIGIN, incarnation: 1, size, checkpoint: await noteOf(size), verifierKey: logKey });
  };
  return { ask } as unknown as ApiClient;
}

function verify(api: ApiClient): Promise<unknown> {
  const files = [scratch.file('last')];
  const question = { givenKey: logKey, kept: undefined, policy: undefined, waitMs: 0, files, exported: undefined };
  return verifyWholeLog(api, { ...question, onProgress: () => undefined });
}

it('a file with more entries than the log shows is evidence against it', async () => {
  await writeFile(scratch.file('last'), await noteOf(4));
  await expect(verify(showing(3))).rejects.toThrow(/tampered with.*4 entries of it were signed, and it shows 3/);
});

it('one that is written to after the log was asked for is none', async () => {
  await writeFile(scratch.file('last'), await noteOf(3));
  const signs = async (): Promise<void> => writeFile(scratch.file('last'), await noteOf(4));
  await expect(verify(showing(3, signs))).rejects.toThrow('the entries are looked at');
});
