import { isCommittedBody, tileAt, decodeEntryBundle, TILE_WIDTH, type TileReader } from '@fairlead/transparency-log';
import { z } from 'zod';
import { failure } from '../failure.js';
import type { ApiClient } from '../session/api-client.js';
import { AuditEvidenceList } from '../session/audit-log-answers.js';
import { parseJson } from '../session/parse-json.js';

const Leaf = z.object({ v: z.literal(1), commitment: z.base64().length(44) });

/** What an entry was made of, each byte for byte. */
export interface EntryEvidence {
  /** The record of the tree: it holds SHA-256 over nonce and body, the commitment. */
  readonly leaf: Uint8Array;
  readonly nonce: Uint8Array;
  readonly body: string;
}

/** Of entry `number`, of a log of `size`. GONE where the retention took its body; CONFLICT where that is not what was logged. */
export async function evidenceOf(
  api: ApiClient,
  tiles: TileReader,
  { number, size }: { readonly number: number; readonly size: number },
): Promise<EntryEvidence> {
  const leaf = await leafAt(tiles, number - 1, size);
  const page = await api.ask(AuditEvidenceList, `/v1/audit/log/evidence?after=${number - 1}`);
  const found = page.records.find((record) => record.number === number);
  if (!leaf || !found || found.body === null || found.nonce === null)
    throw failure(
      'GONE',
      `the log has no body of entry ${number} any more`,
      'without --out, its proof alone is printed',
    );
  const nonce = Buffer.from(found.nonce, 'base64');
  if (!isCommitted(leaf, nonce, found.body))
    throw failure('CONFLICT', `entry ${number} is not what was logged`, 'run: fairlead audit verify');
  return { leaf, nonce, body: found.body };
}

/** Does the leaf of an entry commit to this? */
export function isCommitted(leaf: Uint8Array, nonce: Uint8Array, body: string): boolean {
  const read = Leaf.safeParse(parseJson(Buffer.from(leaf).toString('utf8')));
  return read.success && isCommittedBody(Buffer.from(read.data.commitment, 'base64'), nonce, Buffer.from(body));
}

async function leafAt(tiles: TileReader, record: number, size: number): Promise<Uint8Array | undefined> {
  const bytes = await tiles.readEntryBundle(tileAt(0, record, size));
  return bytes && decodeEntryBundle(bytes).entries[record % TILE_WIDTH];
}

/** All that is kept of the first `size` entries, in their order: `{"number":1,"nonce":"<base64>","body":"<byte for byte>"}`. */
export async function* evidenceLines(api: ApiClient, size: number): AsyncGenerator<string, void, void> {
  for (let after = 0; after < size;) {
    const { records, next } = await api.ask(AuditEvidenceList, `/v1/audit/log/evidence?after=${after}`);
    for (const { number, nonce, body } of records) {
      if (number <= size && nonce !== null && body !== null) yield JSON.stringify({ number, nonce, body });
    }
    if (next <= after) break;
    after = next;
  }
}
