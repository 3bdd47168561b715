import type { Checkpoint } from './checkpoint/checkpoint.js';
import { GrowingTree, rootOf, type CompletedHash, type TreeEdge } from './merkle/growing-tree.js';
import { HASH_BYTES, hashLeaf, hashSubtree, sameHash, type Hash } from './merkle/hashes.js';
import { decodeEntryBundle, type DecodedBundle } from './tiles/entry-bundle.js';
import type { TileReader } from './tiles/tile-reader.js';
import { TILE_WIDTH, entryBundlePath, tileAt, tilePath, type Tile } from './tiles/tile.js';

/**
 * What is wrong with a record:
 * - `missing`: it is not there, and those after it stand in its place; or its bundle ends before it, or is not there
 * - `moved`: another record of its bundle stands in its place
 * - `edited`: something else stands in its place
 * - `malformed`: its bundle cannot be read from it on
 * - `unexpected`: its bundle has more entries than there may be
 * - `tile-missing`, `tile-differs`: the record agrees with the rest of the tree, or nothing tells; its hash tile does not
 * - `rewritten`: records and tiles agree with each other, and not with the checkpoint: rewritten with their tiles, or another fork
 */
export type ProblemKind =
  | 'missing'
  | 'moved'
  | 'edited'
  | 'malformed'
  | 'unexpected'
  | 'tile-missing'
  | 'tile-differs'
  | 'rewritten';

export interface LogProblem {
  readonly kind: ProblemKind;
  /** The first bad record. */
  readonly index: number;
  /** The bad record is one of these, from `index` on: 1 where it is known to be that one. */
  readonly among: number;
  /** The file or row in which it shows, by its path of tlog-tiles; of `rewritten`, none. */
  readonly path?: string;
}

export type LogVerdict = { readonly ok: true; readonly size: number } | ({ readonly ok: false } & LogProblem);

/** A tree as it was known to be: who has more of them learns more exactly where one was left. */
export type KnownTree = Pick<Checkpoint, 'size' | 'root'>;

/**
 * Computes the whole tree anew from the entries, and compares each hash with the tiles and each root with the checkpoints that are given:
 * the one to verify, whose signature the caller has checked, and any earlier ones, best those that were kept elsewhere. Says what is wrong
 * with the first bad record. Holds a bundle of entries and a tile of each level. Throws what the reader throws.
 */
export async function verifyLog(reader: TileReader, checkpoints: readonly KnownTree[]): Promise<LogVerdict> {
  const known = checkpoints.toSorted((left, right) => left.size - right.size);
  const size = known.at(-1)?.size ?? 0;
  const problem = await new LogCheck(reader, size, known).run();
  return problem ? { ok: false, ...problem } : { ok: true, size };
}

class LogCheck {
  readonly #tree = new GrowingTree();
  readonly #tiles: KnownTiles;
  readonly #roots = new Map<number, Hash[]>();
  /** Up to here a root agreed. */
  #agreed = 0;
  /** Of tiles that are missing or cut off. No record is bad for it, so that one that is comes first: of a truncated log, where it ends. */
  #incomplete: LogProblem | undefined;

  constructor(
    readonly reader: TileReader,
    readonly size: number,
    readonly known: readonly KnownTree[],
  ) {
    this.#tiles = new KnownTiles(reader);
    for (const { size, root } of known) this.#roots.set(size, [...(this.#roots.get(size) ?? []), root]);
  }

  async run(): Promise<LogProblem | undefined> {
    for (let first = 0; first < this.size; first += TILE_WIDTH) {
      const problem = await this.#checkBundle(first);
      if (problem) return problem;
    }
    return this.#checkRoots() ?? this.#incomplete;
  }

  async #checkBundle(first: number): Promise<LogProblem | undefined> {
    const tile = tileAt(0, first, this.size);
    const path = entryBundlePath(tile);
    const bytes = await this.reader.readEntryBundle(tile);
    if (bytes === undefined) return { kind: 'missing', index: first, among: tile.width, path };
    const bundle = decodeEntryBundle(bytes);
    const hashes = bundle.entries.map(hashLeaf);
    const logged = await this.#tiles.of(tile);
    const found = logged ? compareLeaves(hashes, logged, bundle, tile.width) : withoutTile(hashes, bundle, tile.width);
    if (found) {
      const wrong = found.kind === 'tile-differs' ? tilePath(tile) : path;
      const problem = { ...found, index: first + found.index, among: 1, path: wrong };
      return logged ? this.#blame(problem, hashes, logged, tile) : problem;
    }
    if (!logged) this.#incomplete ??= { kind: 'tile-missing', index: first, among: tile.width, path: tilePath(tile) };
    return this.#grow(hashes.slice(0, tile.width));
  }

  async #grow(hashes: readonly Hash[]): Promise<LogProblem | undefined> {
    for (const hash of hashes) {
      const wrongRoot = this.#checkRoots();
      if (wrongRoot) return wrongRoot;
      for (const completed of this.#tree.append(hash)) {
        const problem = await this.#checkCompleted(completed);
        if (problem) return problem;
      }
    }
    return undefined;
  }

  /** Roots at the size that the tree has now. */
  #checkRoots(): LogProblem | undefined {
    const roots = this.#roots.get(this.#tree.size);
    if (!roots) return undefined;
    const computed = rootOf(this.#tree.edge());
    if (roots.every((root) => sameHash(root, computed))) {
      this.#agreed = this.#tree.size;
      return undefined;
    }
    return { kind: 'rewritten', index: this.#agreed, among: Math.max(1, this.#tree.size - this.#agreed) };
  }

  /** A hash above level 0 against the tile that has it. */
  async #checkCompleted({ level, position, hash }: CompletedHash): Promise<LogProblem | undefined> {
    const tile = tileAt(level, position, this.size);
    const span = TILE_WIDTH ** level;
    const at = { index: position * span, among: span, path: tilePath(tile) };
    const logged = await this.#tiles.of(tile);
    const stands = logged && hashAt(logged, position % TILE_WIDTH);
    if (!stands) {
      this.#incomplete ??= { kind: logged ? 'tile-differs' : 'tile-missing', ...at };
      return undefined;
    }
    const isGood = sameHash(stands, hash) && logged.length <= tile.width * HASH_BYTES;
    return isGood ? undefined : { kind: 'tile-differs', ...at };
  }

  /** Entry and hash tile disagree: which of them the rest of the tree agrees with. */
  async #blame(problem: LogProblem, hashes: readonly Hash[], logged: Uint8Array, tile: Tile): Promise<LogProblem> {
    const computed = Buffer.concat(hashes.slice(0, tile.width));
    if (computed.length !== tile.width * HASH_BYTES) return problem;
    const above = tile.width === TILE_WIDTH ? await this.#hashAbove(tile) : this.known.at(-1)?.root;
    if (!above) return problem;
    const agrees = (bytes: Uint8Array): boolean => sameHash(above, this.#hashOver(bytes, tile));
    return agrees(computed) && !agrees(logged) ? { ...problem, kind: 'tile-differs', path: tilePath(tile) } : problem;
  }

  /** What the tree above a tile would be: of a full one its own root, of the last one, which is partial, that of all. */
  #hashOver(bytes: Uint8Array, tile: Tile): Hash {
    if (tile.width === TILE_WIDTH) return hashSubtree(bytes, 0, TILE_WIDTH);
    const { tiles } = this.#tree.edge();
    const edge: TreeEdge = { size: this.size, tiles: [bytes, ...tiles.slice(1)] };
    return rootOf(edge);
  }

  async #hashAbove(tile: Tile): Promise<Hash | undefined> {
    const parent = await this.#tiles.of(tileAt(1, tile.index, this.size));
    return parent && hashAt(parent, tile.index % TILE_WIDTH);
  }
}

/** The tiles of the log, each read once as long as they are asked for from left to right. */
class KnownTiles {
  readonly #last = new Map<number, { readonly index: number; readonly bytes: Uint8Array | undefined }>();

  constructor(readonly reader: TileReader) {}

  async of(tile: Tile): Promise<Uint8Array | undefined> {
    const last = this.#last.get(tile.level);
    if (last?.index === tile.index) return last.bytes;
    const read = await this.reader.readTile(tile);
    // Where the partial tile is gone the full one stands for it.
    const bytes =
      tile.width < TILE_WIDTH && read?.length === TILE_WIDTH * HASH_BYTES
        ? read.subarray(0, tile.width * HASH_BYTES)
        : read;
    this.#last.set(tile.level, { index: tile.index, bytes });
    return bytes;
  }
}

type Found = Pick<LogProblem, 'kind' | 'index'>;

/** The first entry of a bundle that its hash tile does not have in that place; by its place in the bundle. */
function compareLeaves(
  hashes: readonly Hash[],
  logged: Uint8Array,
  bundle: DecodedBundle,
  width: number,
): Found | undefined {
  for (let index = 0; index < width; index++) {
    const [hash, expected] = [hashes[index], hashAt(logged, index)];
    if (!hash) return { kind: bundle.torn ? 'malformed' : 'missing', index };
    if (!expected) return { kind: 'tile-differs', index };
    if (!sameHash(hash, expected)) return { kind: kindOfChange(hashes, hash, logged, width), index };
  }
  if (logged.length > width * HASH_BYTES) return { kind: 'tile-differs', index: width - 1 };
  return withoutTile(hashes, bundle, width);
}

/** What a bundle tells alone. A full one stands for a partial one that is gone. */
function withoutTile(hashes: readonly Hash[], { torn }: DecodedBundle, width: number): Found | undefined {
  if (torn) return { kind: 'malformed', index: Math.min(hashes.length, width - 1) };
  if (hashes.length < width) return { kind: 'missing', index: hashes.length };
  return hashes.length === width || hashes.length === TILE_WIDTH ? undefined : { kind: 'unexpected', index: width - 1 };
}

function kindOfChange(hashes: readonly Hash[], hash: Hash, logged: Uint8Array, width: number): ProblemKind {
  if (hashes.length < width) return 'missing';
  const stands = Array.from({ length: width }, (_, index) => hashAt(logged, index));
  return stands.some((each) => each && sameHash(each, hash)) ? 'moved' : 'edited';
}

function hashAt(tile: Uint8Array, index: number): Hash | undefined {
  const hash = tile.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);
  return hash.length === HASH_BYTES ? hash : undefined;
}

/** The problem as a sentence for people. */
export function describeProblem({ kind, index, among, path }: LogProblem): string {
  const where = among === 1 ? `record ${index}` : `records ${index} to ${index + among - 1}`;
  const says: Record<ProblemKind, string> = {
    missing: `${where} is missing from ${path}`,
    moved: `${where} was moved: another one stands in its place in ${path}`,
    edited: `${where} was changed: ${path} has something else than what was logged`,
    malformed: `${where} cannot be read: ${path} is damaged`,
    unexpected: `after ${where}, ${path} has more than was logged`,
    'tile-missing': `${path} is missing, which has hashes of ${where}`,
    'tile-differs': `${path} does not agree with ${where}`,
    rewritten: `${where}: at least one was rewritten with its tiles, or this is a fork, since the checkpoint has another root`,
  };
  return says[kind];
}
