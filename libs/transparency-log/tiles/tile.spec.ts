import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { entryBundlePath, parsePath, partialTiles, tilePath } from './tile.js';

it('paths are those of the format', () => {
  expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067');
  expect(tilePath({ level: 12, index: 0, width: 17 })).toBe('tile/12/000.p/17');
  expect(entryBundlePath({ index: 1_000, width: 255 })).toBe('tile/entries/x001/000.p/255');
});

it('each path is read as what it was written for', () => {
  const places = fc.record({ level: fc.nat(63), index: fc.maxSafeNat(), width: fc.integer({ min: 1, max: 256 }) });
  fc.assert(
    fc.property(places, (tile) => {
      const { level: _, ...bundle } = tile;
      expect(parsePath(tilePath(tile))).toEqual({ kind: 'tile', tile });
      expect(parsePath(entryBundlePath(bundle))).toEqual({ kind: 'entries', bundle });
    }),
  );
});

it.each([
  'tile/0/1',
  'tile/0/000.p/0',
  'tile/0/000.p/256',
  'tile/0/000.p/01',
  'tile/00/000',
  'tile/64/000',
  'tile/0/x000/001',
  'tile/0/001/002',
  'tile/0/../000',
  '/tile/0/000',
  'tile/0/000/',
  'tile/data/000',
  '',
])('%s is no path of the format', (path) => {
  expect(parsePath(path)).toBeUndefined();
});

it('the partial tiles of a tree are those that the format says', () => {
  expect(partialTiles(70_000)).toEqual([
    { level: 0, index: 273, width: 112 },
    { level: 1, index: 1, width: 17 },
    { level: 2, index: 0, width: 1 },
  ]);
  expect(partialTiles(256)).toEqual([{ level: 1, index: 0, width: 1 }]);
  expect(partialTiles(0)).toEqual([]);
});
