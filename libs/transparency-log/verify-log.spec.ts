import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appendHashes, EMPTY_EDGE } from './merkle/growing-tree.js';
import { hashLeaf } from './merkle/hashes.js';
import { LogInMemory, entries } from './testing/index.js';
import { decodeEntryBundle, encodeEntryBundle } from './tiles/entry-bundle.js';
import { entryBundlePath, tilePath, type EntryBundle, type Tile } from './tiles/tile.js';
import { describeProblem, verifyLog, type LogVerdict } from './verify-log.js';

const whole = (size: number): LogInMemory => new LogInMemory().append(entries(0, size));
const known = (log: LogInMemory) => ({ size: log.edge.size, root: log.root });

/** A log of 1,000 records, whose third bundle (512 to 767) or last one (768 to 999) is changed. */
async function verdictAfter(change: (entries: Uint8Array[]) => Uint8Array[], bundle: EntryBundle): Promise<LogVerdict> {
  const log = whole(1_000);
  const path = entryBundlePath(bundle);
  const before = decodeEntryBundle(log.files.get(path)!).entries;
  log.files.set(path, encodeEntryBundle(change([...before])));
  return verifyLog(log, [known(log)]);
}

const BUNDLES: { readonly name: string; readonly bundle: EntryBundle; readonly first: number }[] = [
  { name: 'full', bundle: { index: 2, width: 256 }, first: 512 },
  { name: 'partial', bundle: { index: 3, width: 232 }, first: 768 },
];

describe('verify finds nothing', () => {
  it.each([0, 1, 255, 256, 257, 1_000, 65_536, 70_000])('in a good log of %i records', async (size) => {
    const log = whole(size);
    expect(await verifyLog(log, [known(log)])).toEqual({ ok: true, size });
  });

  it('in a log that has grown since the checkpoint, with all that was known of it', async () => {
    const log = whole(0);
    const checkpoints = [known(log)];
    for (const size of [3, 200, 300, 301, 900]) checkpoints.push(known(log.append(entries(log.edge.size, size))));
    log.append(entries(900, 1_500));
    expect(await verifyLog(log, checkpoints.toReversed())).toEqual({ ok: true, size: 900 });
  });

  it('when partial tiles were removed after full ones came', async () => {
    const log = whole(300);
    const at300 = known(log);
    log.append(entries(300, 600));
    for (const path of log.files.keys()) if (path.includes('001.p/')) log.files.delete(path);
    expect(await verifyLog(log, [at300])).toEqual({ ok: true, size: 300 });
  });
});

describe.each(BUNDLES)('verify names the first bad record of a $name bundle', ({ bundle, first }) => {
  const path = entryBundlePath(bundle);

  it('that was deleted', async () => {
    expect(await verdictAfter((all) => all.toSpliced(10, 2), bundle)).toEqual({
      ok: false,
      kind: 'missing',
      index: first + 10,
      among: 1,
      path,
    });
    expect(await verdictAfter((all) => all.slice(0, -3), bundle)).toMatchObject({
      kind: 'missing',
      index: first + bundle.width - 3,
    });
  });

  it('that was edited', async () => {
    const edit = (all: Uint8Array[]): Uint8Array[] =>
      all.with(20, Buffer.from('nothing')).with(30, Buffer.from('at all'));
    expect(await verdictAfter(edit, bundle)).toMatchObject({ kind: 'edited', index: first + 20, among: 1 });
  });

  it('that was moved', async () => {
    const swap = (all: Uint8Array[]): Uint8Array[] => all.with(40, all[50]!).with(50, all[40]!);
    expect(await verdictAfter(swap, bundle)).toMatchObject({ kind: 'moved', index: first + 40, among: 1 });
  });

  it('behind which another one was put', async () => {
    expect(await verdictAfter((all) => [...all, Buffer.from('more')], bundle)).toMatchObject({
      kind: 'unexpected',
      index: first + bundle.width - 1,
    });
  });

  it('from which on the bundle cannot be read', async () => {
    const log = whole(1_000);
    log.files.set(path, log.files.get(path)!.subarray(0, -2));
    expect(await verifyLog(log, [known(log)])).toMatchObject({ kind: 'malformed', index: first + bundle.width - 1 });
  });

  it('after which the bundle has bytes of no entry', async () => {
    const log = whole(1_000);
    log.files.set(path, Buffer.concat([log.files.get(path)!, Buffer.alloc(1)]));
    expect(await verifyLog(log, [known(log)])).toMatchObject({ kind: 'malformed', index: first + bundle.width - 1 });
  });

  it('whose bundle is gone', async () => {
    const log = whole(1_000);
    log.files.delete(path);
    expect(await verifyLog(log, [known(log)])).toEqual({
      ok: false,
      kind: 'missing',
      index: first,
      among: bundle.width,
      path,
    });
  });

  it('whose hash is changed, cut off or gone', async () => {
    const tile = { ...bundle, level: 0 };
    const damaged = async (change: (bytes: Uint8Array) => Uint8Array | undefined): Promise<LogVerdict> => {
      const log = whole(1_000);
      const bytes = change(Uint8Array.from(log.files.get(tilePath(tile))!));
      if (bytes) log.files.set(tilePath(tile), bytes);
      else log.files.delete(tilePath(tile));
      return verifyLog(log, [known(log)]);
    };
    const changed = await damaged((bytes) => bytes.fill(1, 32 * 5, 32 * 6));
    expect(changed).toEqual({ ok: false, kind: 'tile-differs', index: first + 5, among: 1, path: tilePath(tile) });
    expect(await damaged((bytes) => bytes.slice(0, 32 * 7))).toMatchObject({ kind: 'tile-differs', index: first + 7 });
    expect(await damaged((bytes) => Buffer.concat([bytes, bytes]))).toMatchObject({ kind: 'tile-differs' });
    expect(await damaged(() => undefined)).toMatchObject({ kind: 'tile-missing', index: first, among: bundle.width });
  });
});

describe('verify names the first bad record', () => {
  it('of a log that was truncated, with its tiles', async () => {
    const log = whole(1_000);
    const truncated = whole(700);
    expect(await verifyLog(truncated, [known(log)])).toMatchObject({ kind: 'missing', index: 512, among: 256 });
    // A store without partial files gives what it has.
    const store = {
      readTile: (tile: Tile) => log.readTile(tile),
      readEntryBundle: async ({ index }: EntryBundle) =>
        index < 2 ? log.readEntryBundle({ index, width: 256 }) : encodeEntryBundle(entries(512, 700)),
    };
    expect(await verifyLog(store, [known(log)])).toMatchObject({ kind: 'missing', index: 700 });
  });

  it('of an upper tile that differs, or is gone', async () => {
    const log = whole(70_000);
    const path = 'tile/1/001.p/17';
    const bytes = Uint8Array.from(log.files.get(path)!);
    log.files.set(path, bytes.with(32 * 4, bytes[32 * 4]! ^ 1));
    const index = (256 + 4) * 256;
    expect(await verifyLog(log, [known(log)])).toEqual({ ok: false, kind: 'tile-differs', index, among: 256, path });
    log.files.delete(path);
    expect(await verifyLog(log, [known(log)])).toMatchObject({ kind: 'tile-missing', index: 65_536, among: 256, path });
  });

  it('of those that were rewritten with their tiles, as closely as earlier checkpoints tell', async () => {
    const log = new LogInMemory();
    const checkpoints = [100, 400, 600, 1_000].map((size) => known(log.append(entries(log.edge.size, size))));
    const all = entries(0, 1_000).with(450, Buffer.from('rewritten'));
    const rewritten = new LogInMemory().append(all);
    const all4 = await verifyLog(rewritten, checkpoints);
    expect(all4).toEqual({ ok: false, kind: 'rewritten', index: 400, among: 200 });
    expect(await verifyLog(rewritten, checkpoints.slice(-1))).toEqual({
      ok: false,
      kind: 'rewritten',
      index: 0,
      among: 1_000,
    });
  });

  it('of a fork, whose own checkpoint is good', async () => {
    const log = whole(500);
    const exported = known(log.append(entries(500, 800)));
    const fork = whole(500);
    const common = known(fork);
    fork.append(entries(500, 900, 'other'));
    expect(await verifyLog(fork, [known(fork)])).toMatchObject({ ok: true });
    expect(await verifyLog(fork, [known(fork), exported, common])).toEqual({
      ok: false,
      kind: 'rewritten',
      index: 500,
      among: 300,
    });
  });

  it('of a leaf that was rewritten with its own tile alone', async () => {
    const log = whole(1_000);
    const forged = entries(256, 512).with(3, Buffer.from('forged'));
    log.files.set('tile/entries/001', encodeEntryBundle(forged));
    log.files.set('tile/0/001', appendHashes(EMPTY_EDGE, forged.map(hashLeaf)).newTiles[0]!.bytes);
    expect(await verifyLog(log, [known(log)])).toMatchObject({ kind: 'tile-differs', index: 256, among: 256 });
  });

  it('wherever a single byte of a file was changed', async () => {
    const log = whole(600);
    const paths = [...log.files.keys()];
    const place = fc.tuple(fc.constantFrom(...paths), fc.nat(), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(place, async ([path, at, flip]) => {
        const bytes = log.files.get(path)!;
        const changed = Uint8Array.from(bytes);
        changed[at % bytes.length]! ^= flip;
        log.files.set(path, changed);
        try {
          expect(await verifyLog(log, [known(log)])).toMatchObject({ ok: false });
        } finally {
          log.files.set(path, bytes);
        }
      }),
      { numRuns: 200 },
    );
  });
});

it('a problem is told in a sentence', () => {
  expect(describeProblem({ kind: 'edited', index: 7, among: 1, path: 'tile/entries/000' })).toBe(
    'record 7 was changed: tile/entries/000 has something else than what was logged',
  );
  expect(describeProblem({ kind: 'rewritten', index: 400, among: 200 })).toContain('records 400 to 599');
});
