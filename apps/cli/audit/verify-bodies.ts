import { TILE_WIDTH, decodeEntryBundle, isCommittedBody, tileAt, type TileReader } from '@fairlead/transparency-log';
import { z } from 'zod';
import type { ApiClient } from '../session/api-client.js';
import { parseJson } from '../session/parse-json.js';
import { AuditEvidenceList } from './log-answers.js';

const Leaf = z.object({ v: z.literal(1), commitment: z.base64().length(44) });

export interface BodiesVerdict {
  /** Entries whose body is the one that was logged. */
  readonly verified: number;
  /** Entries that are older than what is kept, or whose body was erased. */
  readonly erased: number;
  /** The first one that is not what was logged, or is not there though later ones are. */
  readonly bad?: { readonly number: number; readonly why: string };
}

/** Compares what entries say with what the log's leaves commit to, of the first `size` of them. The leaves are verified by then. */
export async function verifyBodies(
  api: ApiClient,
  tiles: TileReader,
  size: number,
  onProgress: (number: number) => void,
): Promise<BodiesVerdict> {
  const leaves = new Leaves(tiles, size);
  let [verified, erased, expected] = [0, 0, 1];
  for (let after = 0; after < size;) {
    const page = await api.ask(AuditEvidenceList, `/v1/audit/log/evidence?after=${after}`);
    for (const { number, body, nonce } of page.records.filter((record) => record.number <= size)) {
      // Whole days are taken away, the oldest first: a hole after what is kept is none of these.
      if (number !== expected && verified > 0)
        return { verified, erased, bad: { number: expected, why: 'is not there' } };
      erased += number - expected;
      expected = number + 1;
      if (body === null || nonce === null) erased += 1;
      else if (await leaves.commitTo(number, Buffer.from(nonce, 'base64'), Buffer.from(body))) verified += 1;
      else return { verified, erased, bad: { number, why: 'is not what was logged' } };
    }
    if (page.next <= after) break;
    after = page.next;
    onProgress(Math.min(after, size));
  }
  const left = size - expected + 1;
  if (left > 0 && verified > 0) return { verified, erased, bad: { number: expected, why: 'is not there' } };
  return { verified, erased: erased + left };
}

/** One bundle of leaves at a time. */
class Leaves {
  #index = -1;
  #entries: readonly Uint8Array[] = [];

  constructor(
    private readonly tiles: TileReader,
    private readonly size: number,
  ) {}

  async commitTo(number: number, nonce: Uint8Array, body: Uint8Array): Promise<boolean> {
    const leaf = Leaf.safeParse(parseJson(Buffer.from((await this.#leaf(number - 1)) ?? []).toString('utf8')));
    return leaf.success && isCommittedBody(Buffer.from(leaf.data.commitment, 'base64'), nonce, body);
  }

  async #leaf(record: number): Promise<Uint8Array | undefined> {
    const tile = tileAt(0, record, this.size);
    if (tile.index !== this.#index) {
      const bytes = await this.tiles.readEntryBundle(tile);
      this.#entries = decodeEntryBundle(bytes ?? new Uint8Array(0)).entries;
      this.#index = tile.index;
    }
    return this.#entries[record % TILE_WIDTH];
  }
}
