import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_LOG, appendBatch } from '../append-batch.js';
import { LogInMemory, entries, naiveRoot } from '../testing/index.js';
import { decodeEntryBundle, encodeEntryBundle } from '../tiles/entry-bundle.js';
import { readEdge } from '../tiles/tile-reader.js';
import { EMPTY_EDGE, GrowingTree, appendHashes, rootOf } from './growing-tree.js';
import { EMPTY_ROOT, hashLeaf } from './hashes.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Of the first implementation of RFC 6962, and of each one since. */
const RFC_6962 = {
  leaves: ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'],
  roots: [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ],
};

describe('a growing tree', () => {
  it('has the roots of the known vectors of RFC 6962', () => {
    const leaves = RFC_6962.leaves.map((leaf) => Buffer.from(leaf, 'hex'));
    const roots = RFC_6962.roots.map((_, size) => {
      const { root } = appendBatch(EMPTY_LOG, leaves.slice(0, size));
      return hex(root);
    });
    expect(roots).toEqual(RFC_6962.roots);
    expect(hex(EMPTY_ROOT)).toBe(RFC_6962.roots[0]);
  });

  it('has the same root and tiles however its records came, and those of the naive way', () => {
    const batches = fc.array(fc.nat(400), { maxLength: 6 });
    fc.assert(
      fc.property(batches, (sizes) => {
        const bySteps = new LogInMemory();
        for (const size of sizes) bySteps.append(entries(bySteps.edge.size, bySteps.edge.size + size));
        const all = entries(0, bySteps.edge.size);
        const atOnce = new LogInMemory().append(all);
        expect(hex(bySteps.root)).toBe(hex(naiveRoot(all)));
        expect(bySteps.edge).toEqual(atOnce.edge);
        for (const [path, bytes] of atOnce.files) expect([path, bySteps.files.get(path)]).toEqual([path, bytes]);
      }),
      { numRuns: 60 },
    );
  });

  it('goes on from an edge that was read from its tiles', async () => {
    for (const size of [0, 1, 255, 256, 257, 70_000]) {
      const log = new LogInMemory().append(entries(0, size));
      const edge = await readEdge(log, size);
      expect(edge).toEqual(log.edge);
      expect(hex(rootOf(edge))).toBe(hex(log.root));
    }
  });

  it('goes on from where it was, when its partial tiles are gone and full ones are there', async () => {
    const log = new LogInMemory().append(entries(0, 300));
    const { edge } = log;
    log.append(entries(300, 600));
    for (const path of log.files.keys()) if (path.includes('001.p/')) log.files.delete(path);
    expect(await readEdge(log, 300)).toEqual(edge);
  });

  it('has the tiles that the format says for 70,000 records', () => {
    const { files } = new LogInMemory().append(entries(0, 70_000));
    const tiles = [...files.keys()].filter((path) => !path.includes('entries'));
    const ofLevel = (level: number): string[] => tiles.filter((path) => path.startsWith(`tile/${level}/`));
    expect(ofLevel(0)).toHaveLength(274);
    expect(ofLevel(0).at(-1)).toBe('tile/0/273.p/112');
    expect(ofLevel(1)).toEqual(['tile/1/000', 'tile/1/001.p/17']);
    expect(ofLevel(2)).toEqual(['tile/2/000.p/1']);
  });

  it('writes only tiles that changed', () => {
    const { edge } = new LogInMemory().append(entries(0, 300));
    const { newTiles, newBundles } = appendBatch(edge, entries(300, 302));
    expect(newTiles).toMatchObject([{ level: 0, index: 1, width: 46 }]);
    expect(newBundles).toMatchObject([{ index: 1, width: 46 }]);
    expect(appendBatch(edge, [])).toEqual({ newTiles: [], newBundles: [], newEdge: edge, root: rootOf(edge) });
  });

  it('does not change what it was given, nor what it gave', () => {
    const first = appendHashes(EMPTY_EDGE, entries(0, 10).map(hashLeaf));
    const kept = JSON.stringify(first);
    const tree = new GrowingTree(first.newEdge);
    for (const entry of entries(10, 600)) tree.append(hashLeaf(entry));
    expect(JSON.stringify(first)).toBe(kept);
  });

  it('refuses an edge that is not one of its size', () => {
    const { edge } = new LogInMemory().append(entries(0, 300));
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;
    expect(() => appendBatch({ ...edge, size: 301 }, [])).toThrow(invalid);
    expect(() => appendHashes({ ...edge, size: 301 }, [])).toThrow(invalid);
    expect(() => appendBatch({ ...edge, bundle: edge.bundle.subarray(0, -1) }, [])).toThrow(invalid);
    expect(() => appendBatch({ ...edge, bundle: new Uint8Array(0) }, [])).toThrow(invalid);
    expect(() => appendHashes({ ...edge, tiles: [] }, [])).toThrow(invalid);
    expect(() => appendHashes({ ...edge, size: 1.5 }, [])).toThrow(invalid);
  });
});

describe('an entry bundle', () => {
  it('is read as it was written', () => {
    const entry = fc.uint8Array({ maxLength: 50 });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 256 }), (all) => {
        const decoded = decodeEntryBundle(encodeEntryBundle(all));
        expect(decoded.torn).toBe(false);
        expect(decoded.entries.map(hex)).toEqual(all.map(hex));
      }),
    );
  });

  it('takes an entry of 65,535 bytes, and none that is larger', () => {
    const largest = Buffer.alloc(65_535, 7);
    expect(decodeEntryBundle(encodeEntryBundle([largest])).entries).toEqual([largest]);
    expect(() => encodeEntryBundle([new Uint8Array(65_536)])).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE' }) as Error,
    );
  });

  it('tells where it is torn', () => {
    const bytes = encodeEntryBundle(entries(0, 3));
    expect(decodeEntryBundle(bytes.subarray(0, -1))).toMatchObject({ torn: true, entries: { length: 2 } });
    expect(decodeEntryBundle(bytes.subarray(0, 1))).toEqual({ torn: true, entries: [] });
  });
});
