import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinary } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EMPTY_LOG,
  TileFolder,
  addSignatures,
  appendBatch,
  cosignByWitness,
  countingPolicy,
  decodeEntryBundle,
  encodeEntryBundle,
  noteSigner,
  openCheckpoint,
  parseVerifierKey,
  readEdge,
  signCheckpoint,
  verifierKey,
  verifyLog,
  verifyPolicy,
  type AskOptions,
  type LogVerdict,
  type OpenedCheckpoint,
} from './index.js';
import { entries, startTestWitness, type TestWitness } from './testing/index.js';

const ORIGIN = 'fairlead.test/tenants/acme';
const key = generateKeyPairSync('ed25519').privateKey;
const logKey = verifierKey(ORIGIN, 'ed25519', key);
const options: AskOptions = { signal: new AbortController().signal, timeoutMs: 20_000 };
const TOOL_TIMEOUT_MS = 100_000;

interface Outcome {
  readonly code: number;
  readonly output: string;
}

let dir: ScratchDir;
let witnesses: readonly TestWitness[];
let fsck: string;
let tlogVerify: string;

beforeAll(async () => {
  dir = await scratchDir();
  await writeFile(dir.file('log.key'), logKey);
  const logs = new Map([[ORIGIN, [parseVerifierKey(logKey)]]]);
  witnesses = await Promise.all(['witness.test/w1', 'witness.test/w2'].map((name) => startTestWitness({ name, logs })));
  fsck = (await findBinary('tessera-fsck')).path;
  tlogVerify = (await findBinary('tlog-verify')).path;
});
afterAll(async () => {
  for (const witness of witnesses ?? []) await witness[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

/** Goes on with the log in a folder, as who restarts does: from what is there. `text` tells one fork's entries from another's. */
async function grow(folder: TileFolder, size: number, text?: string): Promise<Buffer> {
  const before = await folder.readCheckpoint();
  const old = before ? openCheckpoint(before, ORIGIN, [parseVerifierKey(logKey)]).size : 0;
  const edge = before ? await readEdge(folder, old) : EMPTY_LOG;
  const batch = appendBatch(edge, entries(old, size, text));
  const checkpoint = await signCheckpoint({ origin: ORIGIN, size, root: batch.root }, [noteSigner(ORIGIN, key)]);
  await folder.write(batch, checkpoint);
  return checkpoint;
}

/** A log that grew in steps, and the files with the checkpoint of each step but the last. */
async function logOf(name: string, sizes: readonly number[]): Promise<{ folder: TileFolder; earlier: string[] }> {
  const folder = new TileFolder(dir.file(name));
  const earlier: string[] = [];
  for (const size of sizes) {
    const path = dir.file(`${name}.${size}`);
    await writeFile(path, await grow(folder, size));
    earlier.push(path);
  }
  return { folder, earlier: earlier.slice(0, -1) };
}

function run(program: string, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((done) => {
    execFile(program, args, { timeout: TOOL_TIMEOUT_MS }, (error, stdout, stderr) => {
      done({ code: error ? Number(error.code ?? -1) : 0, output: stdout + stderr });
    });
  });
}

/** More than there are tiles in a damaged log here: a worker ends at the first that differs, and fsck waits forever when all have. */
const FSCK_WORKERS = '16';

/** Go's, of a program that panics: fsck does, where a bundle has fewer entries than the checkpoint says. */
const PANIC = 2;

/** It ends with 0 whatever it finds, and says how it went. */
async function fsckAccepts({ root }: TileFolder, { size, root: hash }: Pick<OpenedCheckpoint, 'size' | 'root'>) {
  const where = ['--storage_url', `file://${root}`, '--public_key', dir.file('log.key')];
  const { code, output } = await run(fsck, ...where, '--ui=false', '--N', FSCK_WORKERS);
  const says = `Successfully fsck'd log with size ${size} and root ${Buffer.from(hash).toString('base64')}`;
  return { accepts: output.includes(says), isRefused: output.includes('fsck failed') || code === PANIC, output };
}

function verifyWithGo(folder: TileFolder, earlier: readonly string[] = [], cosigners: readonly TestWitness[] = []) {
  const keys = cosigners.map((witness) => witness.verifierKey).join(',');
  return run(tlogVerify, '-log', folder.root, '-key', logKey, '-earlier', earlier.join(','), '-witnesses', keys);
}

async function checkpointOf(folder: TileFolder): Promise<OpenedCheckpoint> {
  const note = await folder.readCheckpoint();
  return openCheckpoint(note!, ORIGIN, [parseVerifierKey(logKey)]);
}

describe('a good log is verified by Go, by Tessera and by us', () => {
  it.each([
    ['nothing', [0]],
    ['1 record', [1]],
    ['255 records', [100, 255]],
    ['256 records', [255, 256]],
    ['257 records', [1, 255, 257]],
    ['1,000 records', [0, 256, 512, 999, 1_000]],
    ['70,000 records', [300, 65_535, 65_536, 70_000]],
  ])('of %s', async (name, sizes) => {
    const { folder, earlier } = await logOf(name.replaceAll(/\W/g, '-'), sizes);
    const checkpoint = await checkpointOf(folder);
    const size = sizes.at(-1)!;
    expect(await verifyLog(folder, [checkpoint])).toEqual({ ok: true, size });
    const root = Buffer.from(checkpoint.root).toString('base64');
    expect(await verifyWithGo(folder, earlier)).toEqual({ code: 0, output: `size ${size} root ${root} cosigned 0\n` });
    expect(await fsckAccepts(folder, checkpoint)).toMatchObject({ accepts: true, isRefused: false });
  });
});

describe('witnesses', () => {
  it('cosign so that Go counts them, and refuse a fork, which has no quorum then', async () => {
    const { folder } = await logOf('cosigned', [400]);
    const bothOfThem = countingPolicy(
      witnesses.map((witness) => witness.verifierKey),
      2,
    );
    const cosign = async (log: TileFolder) => {
      const note = await readFile(join(log.root, 'checkpoint'));
      const request = { checkpoint: note, lastSize: 0, reader: log };
      const answers = await Promise.all(witnesses.map((witness) => cosignByWitness(witness, request, options)));
      const lines = answers.flatMap((answer) => (answer.kind === 'cosigned' ? [answer.signature] : []));
      const cosigned = addSignatures(note, lines);
      await writeFile(join(log.root, 'checkpoint'), cosigned);
      return { answers, verdict: verifyPolicy(cosigned, bothOfThem) };
    };
    expect((await cosign(folder)).verdict).toMatchObject({ reached: true, missing: [] });
    expect(await verifyWithGo(folder, [], witnesses)).toMatchObject({
      code: 0,
      output: expect.stringContaining('cosigned 2') as string,
    });

    const { folder: fork } = await logOf('fork-of-cosigned', [300]);
    await grow(fork, 600, 'other');
    const refused = await cosign(fork);
    expect(refused.answers).toEqual(witnesses.map(() => ({ kind: 'refused', why: 'fork', status: 422 })));
    expect(refused.verdict).toMatchObject({ reached: false, missing: ['1', '2'] });
    expect((await verifyWithGo(fork, [], witnesses)).code).toBe(1);

    await grow(folder, 900);
    expect((await cosign(folder)).verdict.reached).toBe(true);
    expect(await verifyWithGo(folder, [], witnesses)).toMatchObject({ code: 0 });
  });
});

type Damage = (folder: TileFolder) => Promise<void>;

const changeFile = async ({ root }: TileFolder, path: string, change: (bytes: Buffer) => Uint8Array): Promise<void> =>
  writeFile(join(root, path), change(await readFile(join(root, path))));
const changeEntries =
  (path: string, change: (all: Uint8Array[]) => Uint8Array[]): Damage =>
  (folder) =>
    changeFile(folder, path, (bytes) => encodeEntryBundle(change([...decodeEntryBundle(bytes).entries])));

/** To a log of 1,000 records: what is done, and what we say to it. */
const DAMAGES: readonly (readonly [string, Damage, Partial<Extract<LogVerdict, { ok: false }>>])[] = [
  ['deleting', changeEntries('tile/entries/001', (all) => all.toSpliced(44, 1)), { kind: 'missing', index: 300 }],
  [
    'editing',
    changeEntries('tile/entries/001', (all) => all.with(44, Buffer.from('edited'))),
    { kind: 'edited', index: 300 },
  ],
  [
    'reordering',
    changeEntries('tile/entries/001', (all) => all.with(44, all[45]!).with(45, all[44]!)),
    { kind: 'moved', index: 300 },
  ],
  ['truncating', changeEntries('tile/entries/003.p/232', (all) => all.slice(0, 200)), { kind: 'missing', index: 968 }],
  ['removing a bundle', ({ root }) => rm(join(root, 'tile/entries/002')), { kind: 'missing', index: 512 }],
  [
    'tearing a bundle',
    (folder) => changeFile(folder, 'tile/entries/002', (bytes) => bytes.subarray(0, -1)),
    { kind: 'malformed', index: 767 },
  ],
  [
    'a hash of a tile',
    (folder) => changeFile(folder, 'tile/0/002', (bytes) => bytes.fill(0, 320, 352)),
    { kind: 'tile-differs', index: 522 },
  ],
  [
    'a hash of an upper tile',
    (folder) => changeFile(folder, 'tile/1/000.p/3', (bytes) => bytes.fill(0, 32, 64)),
    { kind: 'tile-differs', index: 256 },
  ],
  ['removing a tile', ({ root }) => rm(join(root, 'tile/0/002')), { kind: 'tile-missing', index: 512 }],
  [
    'rewriting records with all their tiles',
    async ({ root }) => {
      const rewritten = new TileFolder(`${root}-rewritten`);
      await grow(rewritten, 1_000, 'rewritten');
      await rm(join(root, 'tile'), { recursive: true });
      await rename(join(rewritten.root, 'tile'), join(root, 'tile'));
    },
    { kind: 'rewritten', index: 0, among: 1_000 },
  ],
];

describe('a damaged log is found by Go, by Tessera and by us', () => {
  it.each(DAMAGES)('after %s', async (name, damage, verdict) => {
    const { folder } = await logOf(`damaged-${name.replaceAll(' ', '-')}`, [1_000]);
    const checkpoint = await checkpointOf(folder);
    await damage(folder);
    expect(await verifyLog(folder, [checkpoint])).toMatchObject({ ok: false, ...verdict });
    expect((await verifyWithGo(folder)).code).toBe(1);
    expect(await fsckAccepts(folder, checkpoint)).toMatchObject({ accepts: false, isRefused: true });
  });

  it('after its checkpoint was changed, or signed by somebody else', async () => {
    const { folder } = await logOf('forged', [300]);
    const checkpoint = await checkpointOf(folder);
    const foreign = generateKeyPairSync('ed25519').privateKey;
    const forged = [
      Buffer.from((await folder.readCheckpoint())!.toString().replace('\n300\n', '\n299\n')),
      await signCheckpoint(checkpoint, [noteSigner(ORIGIN, foreign)]),
    ];
    for (const note of forged) {
      await writeFile(join(folder.root, 'checkpoint'), note);
      await expect(checkpointOf(folder)).rejects.toMatchObject({ code: 'UNTRUSTED_PEER' });
      expect((await verifyWithGo(folder)).code).toBe(1);
      expect(await fsckAccepts(folder, checkpoint)).toMatchObject({ accepts: false, isRefused: true });
    }
  });

  it('after it was forked, by an earlier checkpoint that was kept elsewhere', async () => {
    const { earlier } = await logOf('left', [500, 800, 900]);
    const { folder: fork } = await logOf('right', [500]);
    await grow(fork, 900, 'other');
    const kept = await Promise.all(
      earlier.map(async (path) => openCheckpoint(await readFile(path), ORIGIN, [parseVerifierKey(logKey)])),
    );
    const forked = await checkpointOf(fork);
    // By itself it is a good log.
    expect(await verifyLog(fork, [forked])).toMatchObject({ ok: true });
    expect(await fsckAccepts(fork, forked)).toMatchObject({ accepts: true, isRefused: false });
    expect(await verifyLog(fork, [forked, ...kept])).toEqual({ ok: false, kind: 'rewritten', index: 500, among: 300 });
    expect(await verifyWithGo(fork, earlier)).toMatchObject({
      code: 1,
      output: expect.stringContaining('left.800') as string,
    });
    expect(await verifyWithGo(fork, earlier.slice(0, 1))).toMatchObject({ code: 0 });
  });
});
