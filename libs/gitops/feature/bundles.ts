import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { Bundle, Caller } from '@fairlead/contracts';
import { BundleLimits, type Tool } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { specsInUse } from '../store/assignment-store.js';
import {
  countBundles,
  deleteBundle,
  ensureBundle,
  findBundle,
  listBundles,
  readBundlePiece,
  type StoredBundle,
} from '../store/bundle-store.js';
import { lockCatalog } from '../store/locks.js';
import { findCluster } from '../store/cluster-store.js';
import type { BundleReader } from './bundle-reader.js';
import { commit, operatorOf, read, tell, type Runtime } from './runtime.js';

const compress = promisify(gzip);
/** Their list is one answer, and each may have 700 KiB in the database. */
const MAX_BUNDLES = 100;

/** As its importer describes it. */
export interface NewBundle {
  readonly tool: Tool;
  readonly version: string;
  readonly digest: string;
  readonly origin: string;
  readonly actor: string;
}

/** The install manifests that clusters can be given. */
export class Bundles {
  constructor(
    private readonly runtime: Runtime,
    private readonly reader: BundleReader,
  ) {}

  /**
   * INVALID_ARGUMENT: not this digest, or no install manifest of this tool. ALREADY_EXISTS: this version with other contents; the
   * same contents again are what is there. TOO_LARGE. RATE_LIMITED while others are read. `load` is called once it is this one's turn, so that
   * only one bundle is held of all that come.
   */
  async store(
    caller: Caller,
    tenantId: string,
    spec: NewBundle,
    load: () => Promise<Uint8Array> | Uint8Array,
  ): Promise<Bundle> {
    const { tool, version, digest, origin, actor } = spec;
    const { bytes, objects, images, content } = await this.reader.inTurn(tenantId, async (readIt) => {
      const yaml = await load();
      if (createHash('sha256').update(yaml).digest('hex') !== digest) throw otherDigest();
      const contents = await readIt(tool, yaml);
      return { ...contents, bytes: yaml.length, content: await compressed(yaml) };
    });
    const [compressedBytes, importedAt] = [content.length, this.runtime.now()];
    const row = { tenantId, tool, version, digest, bytes, compressedBytes, objects, images: [...images], origin };
    return commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const { bundle, created } = await ensureBundle(manager, { ...row, importedBy: actor, importedAt, content });
      if (bundle.digest !== digest) {
        throw new FairleadError('ALREADY_EXISTS', `there is a bundle ${tool} ${version} with other contents`);
      }
      if (!created) return show(bundle);
      if ((await countBundles(manager, tenantId)) > MAX_BUNDLES) {
        throw new FairleadError('CONFLICT', `there are ${MAX_BUNDLES} bundles already: remove one`);
      }
      const about = { tenantId, subject: `bundle/${digest}`, actor: operatorOf(caller, actor), reason: 'OK' };
      const data = { ...about, tool, version, digest, origin, bytes };
      await tell(this.runtime, manager, 'dev.fairlead.bundle.imported.v1', data);
      return show(bundle);
    });
  }

  async list(tenantId: string): Promise<Bundle[]> {
    const rows = await read(this.runtime, (manager) => listBundles(manager, tenantId));
    return rows.map(show);
  }

  /** CONFLICT while an assignment needs it, or a cluster has it. */
  async remove(caller: Caller, tenantId: string, which: { tool: Tool; version: string; actor: string }): Promise<void> {
    const { tool, version, actor } = which;
    await commit(this.runtime, async (manager) => {
      await lockCatalog(manager, tenantId);
      const { id, digest } = await findBundle(manager, { tenantId, tool, version });
      const specs = await specsInUse(manager, tenantId);
      const user = specs.find((spec) => spec.tool === tool && spec.bundleVersion === version);
      if (user) throw new FairleadError('CONFLICT', `the assignment ${user.name} needs the bundle ${tool} ${version}`);
      await deleteBundle(manager, id);
      const about = { tenantId, subject: `bundle/${digest}`, actor: operatorOf(caller, actor), reason: 'OK' };
      await tell(this.runtime, manager, 'dev.fairlead.bundle.removed.v1', { ...about, tool, version, digest });
    });
  }

  /** NOT_FOUND unless it is this cluster's: what others have is none of its business. INVALID_ARGUMENT beyond its end. */
  async chunk(
    tenantId: string,
    { clusterId, digest, offset }: { clusterId: string; digest: string; offset: number },
  ): Promise<{ piece: string; compressedBytes: number }> {
    const found = await read(this.runtime, async (manager) => {
      const cluster = await findCluster(manager, clusterId);
      if (cluster?.tenantId !== tenantId || cluster.wish?.bundle.digest !== digest) return undefined;
      return readBundlePiece(manager, tenantId, digest, { offset, length: BundleLimits.chunkBytes });
    });
    if (!found) throw new FairleadError('NOT_FOUND', 'that is not the bundle of this cluster');
    const { piece, compressedBytes } = found;
    if (piece.length === 0) throw new FairleadError('INVALID_ARGUMENT', `the bundle has ${compressedBytes} bytes`);
    return { piece: piece.toString('base64'), compressedBytes };
  }
}

async function compressed(yaml: Uint8Array): Promise<Buffer> {
  const content = await compress(yaml, { level: constants.Z_BEST_COMPRESSION });
  const limit = BundleLimits.maxCompressedBytes;
  if (content.length <= limit) return content;
  throw new FairleadError('TOO_LARGE', `the bundle is refused: compressed it has more than ${limit} bytes`);
}

function otherDigest(): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', 'the bundle is refused: it does not have the digest that was named');
}

function show(row: StoredBundle): Bundle {
  const { id, tool, version, digest, bytes, compressedBytes, objects, images, origin, importedBy } = row;
  const importedAt = row.importedAt.toISOString();
  return { id, tool, version, digest, bytes, compressedBytes, objects, images, origin, importedBy, importedAt };
}
