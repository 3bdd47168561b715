import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import {
  EMPTY_LOG,
  TileFolder,
  appendBatch,
  commitToBody,
  entryBundlePath,
  newNonce,
  noteSigner,
  signCheckpoint,
  tileAt,
} from '@fairlead/transparency-log';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ORIGIN = 'fairlead.test/audit/default';
/** A full bundle and one that is not. */
const SIZE = 300;
const DOCUMENT = new URL('../../../docs/audit.md', import.meta.url);
const TIMEOUT_MS = 60_000;

let dir: ScratchDir;
let log: string;
let bodies: string[];

/** As `audit save --bodies` writes it. */
beforeAll(async () => {
  dir = await scratchDir();
  log = dir.file('log');
  const [, program = ''] = /^```python\n(.*?)^```$/ms.exec(await readFile(DOCUMENT, 'utf8')) ?? [];
  await writeFile(dir.file('check.py'), program);
  const entries = Array.from({ length: SIZE }, (_, at) => ({ nonce: newNonce(), body: `{"of":"ä ${at + 1}"}` }));
  const leaves = entries.map(({ nonce, body }) => {
    const commitment = Buffer.from(commitToBody(nonce, Buffer.from(body))).toString('base64');
    return Buffer.from(JSON.stringify({ v: 1, commitment }));
  });
  const batch = appendBatch(EMPTY_LOG, leaves);
  const key = generateKeyPairSync('ed25519').privateKey;
  const signed = await signCheckpoint({ origin: ORIGIN, size: SIZE, root: batch.root }, [noteSigner(ORIGIN, key)]);
  await new TileFolder(log).write(batch, signed);
  bodies = entries.map(({ nonce, body }, at) =>
    JSON.stringify({ number: at + 1, nonce: Buffer.from(nonce).toString('base64'), body }),
  );
});
afterAll(() => dir?.[Symbol.asyncDispose]());

async function check(lines: readonly string[]): Promise<string> {
  await writeFile(`${log}.bodies.ndjson`, lines.map((line) => `${line}\n`).join(''));
  const ran = promisify(execFile)('python3', [dir.file('check.py'), log], { timeout: TIMEOUT_MS });
  return ran.then(
    ({ stdout }) => stdout,
    ({ stderr }: { readonly stderr: string }) => stderr,
  );
}

it('the program of the document finds a whole log whole, with and without what the retention took', async () => {
  const whole = `${SIZE} leaves are those of the checkpoint, and the bodies of`;
  expect(await check(bodies)).toBe(`${whole} 1 to ${SIZE} are what was logged\n`);
  expect(await check(bodies.slice(100))).toBe(`${whole} 101 to ${SIZE} are what was logged\n`);
});

it.each<[string, (lines: string[]) => string[], string]>([
  ['one left out', (lines) => lines.toSpliced(38, 1), 'entry 39 is not there, but 40'],
  [
    'one left out, and the next one twice',
    (lines) => lines.toSpliced(38, 1, lines[39] ?? ''),
    'entry 39 is not there, but 40',
  ],
  ['one twice', (lines) => lines.toSpliced(38, 0, lines[38] ?? ''), 'entry 40 is not there, but 39'],
  ['the end cut off', (lines) => lines.slice(0, 84), 'entry 85 is not there, nor what comes behind it'],
  ['nothing', () => [], 'entry 1 is not there, nor what comes behind it'],
])('and bodies with %s are not whole', async (_what, change, said) => {
  expect(await check(change([...bodies]))).toContain(said);
});

it('and what was changed in it', async () => {
  const changed = bodies.map((line, at) => (at === 279 ? line.replace('ä 280', 'ä 281') : line));
  expect(await check(changed)).toContain('entry 280 is not what was logged');
  const path = `${log}/${entryBundlePath(tileAt(0, 280, SIZE))}`;
  const bundle = await readFile(path);
  bundle[bundle.length - 5]! ^= 1;
  await writeFile(path, bundle);
  expect(await check(bodies)).toContain('the leaves are not those of the checkpoint');
});
