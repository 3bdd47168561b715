import { FairleadError } from '@fairlead/errors';
import { withAdvisoryLock } from '@fairlead/persistence';
import { LessThan, type EntityManager } from 'typeorm';
import { UploadRow } from './entities.js';

export type StoredUpload = Readonly<UploadRow>;

/** RATE_LIMITED if the tenant has `limit` uploads under way. Those that expired are gone then. */
export async function insertUpload(
  manager: EntityManager,
  upload: Omit<StoredUpload, 'id' | 'received'>,
  limit: number,
  now: Date,
): Promise<StoredUpload> {
  await withAdvisoryLock(manager, 'uploads');
  await manager.delete(UploadRow, { expiresAt: LessThan(now) });
  if ((await manager.countBy(UploadRow, { tenantId: upload.tenantId })) >= limit) {
    throw new FairleadError('RATE_LIMITED', `${limit} bundles are being uploaded already; wait for one of them`);
  }
  const row = manager.create(UploadRow, { ...upload, id: crypto.randomUUID(), received: 0 });
  await manager.insert(UploadRow, row);
  return row;
}

/** Keeps it from changing until the transaction ends. NOT_FOUND if it is not there, or expired. */
export async function lockUpload(
  manager: EntityManager,
  tenantId: string,
  id: string,
  now: Date,
): Promise<StoredUpload> {
  const row = await manager.findOne(UploadRow, { where: { tenantId, id }, lock: { mode: 'pessimistic_write' } });
  if (!row || row.expiresAt < now) throw new FairleadError('NOT_FOUND', 'there is no such upload, or it expired');
  return row;
}

export async function insertPiece(
  manager: EntityManager,
  { id, received }: StoredUpload,
  piece: Buffer,
): Promise<void> {
  await manager.query('insert into bundle_pieces (upload_id, start, piece) values ($1, $2, $3)', [id, received, piece]);
  await manager.update(UploadRow, { id }, { received: received + piece.length });
}

/** The piece that begins there. */
export async function pieceAt(manager: EntityManager, id: string, offset: number): Promise<Buffer | undefined> {
  const sql = 'select piece from bundle_pieces where upload_id = $1 and start = $2';
  const rows = (await manager.query(sql, [id, offset])) as { piece: Buffer }[];
  return rows[0]?.piece;
}

export async function readPieces(manager: EntityManager, id: string): Promise<Buffer> {
  const sql = 'select piece from bundle_pieces where upload_id = $1 order by start';
  const rows = (await manager.query(sql, [id])) as { piece: Buffer }[];
  return Buffer.concat(rows.map(({ piece }) => piece));
}

/** With its pieces. */
export async function deleteUpload(manager: EntityManager, tenantId: string, id: string): Promise<void> {
  await manager.delete(UploadRow, { tenantId, id });
}
