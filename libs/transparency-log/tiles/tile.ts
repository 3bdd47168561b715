import { requireSize } from '../merkle/hashes.js';

/** How many hashes are in a full tile, and entries in a full bundle: subtrees of height 8 (tlog-tiles). */
export const TILE_WIDTH = 256;

/** A place in the tree: `width` consecutive hashes, of which each spans 256^level records. */
export interface Tile {
  /** 0 is of hashes of records; at most 63. */
  readonly level: number;
  readonly index: number;
  /** 1 to 256; below 256 it is a partial tile, the beginning of the full one. */
  readonly width: number;
}

/** A place among the entries: `width` of them, those that the tile of level 0 with the same index has the hashes of. */
export type EntryBundle = Omit<Tile, 'level'>;

/** The path of a tile below the log's prefix: `tile/0/x001/067`, `tile/2/000.p/17`. */
export function tilePath({ level, index, width }: Tile): string {
  return `tile/${level}/${indexPath(index)}${partialSuffix(width)}`;
}

/** The path of an entry bundle below the log's prefix: `tile/entries/x001/067`, `tile/entries/000.p/17`. */
export function entryBundlePath({ index, width }: EntryBundle): string {
  return `tile/entries/${indexPath(index)}${partialSuffix(width)}`;
}

export type ParsedPath =
  | { readonly kind: 'tile'; readonly tile: Tile }
  | { readonly kind: 'entries'; readonly bundle: EntryBundle };

const PATH = /^tile\/(entries|0|[1-9]\d?)\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;
const MAX_LEVEL = 63;

/** What such a path asks for; undefined for every other text, and for a second spelling of the same place. */
export function parsePath(path: string): ParsedPath | undefined {
  const [, level = '', digits = '', partial] = PATH.exec(path) ?? [];
  if (level === '') return undefined;
  const index = Number(digits.replaceAll(/[x/]/g, ''));
  const width = partial === undefined ? TILE_WIDTH : Number(partial);
  if (!Number.isSafeInteger(index) || indexPath(index) !== digits) return undefined;
  if (partial !== undefined && width >= TILE_WIDTH) return undefined;
  if (level === 'entries') return { kind: 'entries', bundle: { index, width } };
  return Number(level) > MAX_LEVEL ? undefined : { kind: 'tile', tile: { level: Number(level), index, width } };
}

/** How many tiles' hashes a tree has at a level, in all tiles of it together. */
export function hashesAtLevel(size: number, level: number): number {
  return Math.floor(size / TILE_WIDTH ** level);
}

/** How many levels of tiles a tree has. */
export function levelsOf(size: number): number {
  requireSize(size, 'the size of a tree');
  let levels = 0;
  while (hashesAtLevel(size, levels) > 0) levels += 1;
  return levels;
}

/** The tile that holds hash `position` of a level, as wide as it is in a tree of this size. */
export function tileAt(level: number, position: number, size: number): Tile {
  const index = Math.floor(position / TILE_WIDTH);
  return { level, index, width: Math.min(TILE_WIDTH, hashesAtLevel(size, level) - index * TILE_WIDTH) };
}

/** The tiles at the right edge of a tree that are not full, the lowest first: what the next record changes. A full one has none. */
export function partialTiles(size: number): Tile[] {
  return Array.from({ length: levelsOf(size) }, (_, level) => ({
    level,
    index: Math.floor(hashesAtLevel(size, level) / TILE_WIDTH),
    width: hashesAtLevel(size, level) % TILE_WIDTH,
  })).filter(({ width }) => width > 0);
}

/** In groups of three digits, all but the last begun with an x, so that no file has the name of a folder. */
function indexPath(index: number): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  return padded.replaceAll(/\d{3}(?=\d)/g, 'x$&/');
}

function partialSuffix(width: number): string {
  return width === TILE_WIDTH ? '' : `.p/${width}`;
}
