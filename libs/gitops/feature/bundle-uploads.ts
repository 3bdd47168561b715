import type { Bundle, Caller } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import type { EntityManager } from 'typeorm';
import {
  deleteUpload,
  insertPiece,
  insertUpload,
  lockUpload,
  pieceAt,
  readPieces,
  type StoredUpload,
} from '../store/upload-store.js';
import type { Bundles, NewBundle } from './bundles.js';
import { commit, type Runtime } from './runtime.js';

/** At once, of a tenant: each may keep 16 MiB in the database. */
const MAX_UPLOADS = 4;
const UPLOAD_LIFE_MS = 15 * 60_000;

/** Bundles that arrive in pieces. They wait in the database, so that any replica takes the next piece. */
export class BundleUploads {
  constructor(
    private readonly runtime: Runtime,
    private readonly bundles: Bundles,
  ) {}

  /** RATE_LIMITED while there are too many. One that nobody finishes or cancels is gone after a quarter of an hour. */
  async begin(tenantId: string, spec: NewBundle & { readonly bytes: number }): Promise<{ uploadId: string }> {
    const { tool, version, digest, origin, actor, bytes } = spec;
    const now = this.runtime.now();
    const expiresAt = new Date(now.getTime() + UPLOAD_LIFE_MS);
    const upload = { tenantId, tool, version, digest, origin, actor, bytes, expiresAt };
    const { id } = await commit(this.runtime, (manager) => insertUpload(manager, upload, MAX_UPLOADS, now));
    return { uploadId: id };
  }

  /** In order; one that arrived already may be sent again. CONFLICT: not the next one. INVALID_ARGUMENT: more than was announced. */
  async piece(tenantId: string, uploadId: string, offset: number, piece: Buffer): Promise<void> {
    await commit(this.runtime, async (manager) => {
      const upload = await lockUpload(manager, tenantId, uploadId, this.runtime.now());
      if (piece.length === 0) throw new FairleadError('INVALID_ARGUMENT', 'the piece is empty');
      if (offset + piece.length > upload.bytes) {
        throw new FairleadError('INVALID_ARGUMENT', `the upload was announced with ${upload.bytes} bytes`);
      }
      if (offset === upload.received) return insertPiece(manager, upload, piece);
      if ((await pieceAt(manager, uploadId, offset))?.equals(piece)) return;
      throw new FairleadError('CONFLICT', `the next piece begins at ${upload.received}`);
    });
  }

  /** CONFLICT while pieces are missing. RATE_LIMITED: the same again, later. One whose contents are refused has to be uploaded again. */
  async finish(caller: Caller, tenantId: string, uploadId: string): Promise<Bundle> {
    const upload = await this.#whole(tenantId, uploadId, (_manager, whole) => Promise.resolve(whole));
    try {
      const load = (): Promise<Buffer> => this.#whole(tenantId, uploadId, (manager) => readPieces(manager, uploadId));
      const bundle = await this.bundles.store(caller, tenantId, upload, load);
      await this.cancel(tenantId, uploadId);
      return bundle;
    } catch (error) {
      const { http, retryable } = toFairleadError(error).kind;
      if (http < 500 && !retryable) await this.cancel(tenantId, uploadId);
      throw error;
    }
  }

  /** Forgets it, if it is there. */
  cancel(tenantId: string, uploadId: string): Promise<void> {
    return commit(this.runtime, (manager) => deleteUpload(manager, tenantId, uploadId));
  }

  #whole<T>(
    tenantId: string,
    uploadId: string,
    work: (manager: EntityManager, upload: StoredUpload) => Promise<T>,
  ): Promise<T> {
    return commit(this.runtime, async (manager) => {
      const upload = await lockUpload(manager, tenantId, uploadId, this.runtime.now());
      if (upload.received < upload.bytes) {
        throw new FairleadError('CONFLICT', `${upload.bytes - upload.received} bytes have not arrived yet`);
      }
      return work(manager, upload);
    });
  }
}
