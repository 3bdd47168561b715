import { TILE_WIDTH, decodeEntryBundle, tileAt, type TileReader } from '@fairlead/transparency-log';
import type { ApiClient } from '../session/api-client.js';
import { AuditEvidenceList } from '../session/audit-log-answers.js';
import { isCommitted } from './entry-evidence.js';
import type { ExportFile } from './export-file.js';
import { statementIn, type LogStatement } from './log-statements.js';

export interface BodiesVerdict {
  /** Entries whose body is the one that was logged. */
  readonly verified: number;
  /** Entries whose bodies the retention took, as the log says. */
  readonly erased: number;
  /** What the log says of itself. */
  readonly statements: readonly LogStatement[];
  /** The first one that is not what was logged, or is not there and the log does not say why. */
  readonly bad?: { readonly number: number; readonly why: string };
  /** The first one of which the export says something else than the log. */
  readonly otherInExport?: number;
}

/** Compares what entries say with what the log's leaves commit to, of the first `size` of them, and an export with what they say. The leaves are verified by then. */
export async function verifyBodies(
  api: ApiClient,
  tiles: TileReader,
  size: number,
  onProgress: (number: number) => void,
  exported?: ExportFile,
): Promise<BodiesVerdict> {
  const leaves = new Leaves(tiles, size);
  const statements: LogStatement[] = [];
  let [verified, erased, expected] = [0, 0, 1];
  const bad = (number: number, why: string): BodiesVerdict => ({ verified, erased, statements, bad: { number, why } });
  for (let after = 0; after < size;) {
    const page = await api.ask(AuditEvidenceList, `/v1/audit/log/evidence?after=${after}`);
    for (const { number, body, nonce } of page.records.filter((record) => record.number <= size)) {
      // Whole days are taken away, the oldest first: a hole after what is kept is none of these.
      if (number !== expected && verified > 0) return bad(expected, 'is not there');
      erased += number - expected;
      expected = number + 1;
      if (body === null || nonce === null) {
        if (verified > 0) return bad(number, 'has no body any more');
        erased += 1;
        continue;
      }
      if (!(await leaves.commitTo(number, Buffer.from(nonce, 'base64'), body)))
        return bad(number, 'is not what was logged');
      if (exported && !(await exported.isAsIn(number, body)))
        return { verified, erased, statements, otherInExport: number };
      verified += 1;
      const said = statementIn(number, body);
      if (said) statements.push(said);
    }
    if (page.next <= after) break;
    after = page.next;
    onProgress(Math.min(after, size));
  }
  if (expected <= size && verified > 0) return bad(expected, 'is not there');
  erased += size - expected + 1;
  const taken = takenByRetention(statements);
  if (erased > taken) return bad(taken + 1, 'is not there, and the log does not say that the retention took it');
  return { verified, erased, statements };
}

/** Up to which entry. */
function takenByRetention(statements: readonly LogStatement[]): number {
  return Math.max(0, ...statements.map((said) => (said.statement === 'retention' ? said.last : 0)));
}

/** One bundle of leaves at a time. */
class Leaves {
  #index = -1;
  #entries: readonly Uint8Array[] = [];

  constructor(
    private readonly tiles: TileReader,
    private readonly size: number,
  ) {}

  async commitTo(number: number, nonce: Uint8Array, body: string): Promise<boolean> {
    return isCommitted((await this.#leaf(number - 1)) ?? new Uint8Array(0), nonce, body);
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
