import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { HANDOVER, type BundleReference, BundleLimits } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { readManifest } from '@fairlead/desired-state/manifest';
import { messageOf } from '@fairlead/errors';
import { OWN } from '../names.js';
import type { OwnObjects } from '../state/own-objects.js';
import { Problem } from '../problem.js';

type Desired = Pick<BundleReference, 'digest' | 'bytes'>;

const KEY = HANDOVER.keys.bundle;

/** The bundles that are in the cluster: the one that the agent brought, and the last one that became healthy. */
export class BundleShelf {
  /** The one that was used last: reading and parsing costs some 100 ms. */
  #opened: { readonly digest: string; readonly objects: readonly KubeObject[] } | null = null;

  constructor(private readonly own: OwnObjects) {}

  /** The objects of a bundle; null if it is not here. BUNDLE_UNREADABLE for one that is, and is no use. */
  async open(desired: Desired): Promise<readonly KubeObject[] | null> {
    if (this.#opened?.digest === desired.digest) return this.#opened.objects;
    for (const name of [HANDOVER.bundle, OWN.good]) {
      const bytes = (await this.own.readConfigMap(name))?.binaryData[KEY];
      if (!bytes || bytes.length === 0) continue;
      const objects = await openBundle(bytes, desired).catch(unlessAnother);
      if (!objects) continue;
      this.#opened = { digest: desired.digest, objects };
      return objects;
    }
    return null;
  }

  /** Why what the agent brought is not what is desired; null if it brought nothing. */
  async complaint(desired: Desired): Promise<Problem | null> {
    const bytes = (await this.own.readConfigMap(HANDOVER.bundle))?.binaryData[KEY];
    if (!bytes || bytes.length === 0) return null;
    return openBundle(bytes, desired).then(
      () => null,
      (error: unknown) => {
        if (error instanceof Problem) return error;
        throw error;
      },
    );
  }

  /** Keeps what is on the shelf as the last good one. False if it is there no more. */
  async keepGood(desired: Desired): Promise<boolean> {
    const bytes = (await this.own.readConfigMap(HANDOVER.bundle))?.binaryData[KEY];
    const objects = bytes && (await openBundle(bytes, desired).catch(unlessAnother));
    if (!objects) return false;
    await this.own.writeConfigMap(OWN.good, { data: { digest: desired.digest }, binaryData: { [KEY]: bytes } });
    return true;
  }
}

/** Another bundle than this one may be there; one with the right digest that cannot be read is an error. */
function unlessAnother(error: unknown): null {
  if (error instanceof Problem && error.code === 'BUNDLE_WRONG_DIGEST') return null;
  throw error;
}

const unzip = promisify(gunzip);

/**
 * The objects of a bundle, once its bytes are those that the desired state names. Codes: BUNDLE_WRONG_DIGEST (also for what is no
 * gzip, or is larger than it should be), BUNDLE_UNREADABLE.
 */
export async function openBundle(
  compressed: Uint8Array,
  reference: Pick<BundleReference, 'digest' | 'bytes'>,
): Promise<KubeObject[]> {
  const yaml = await unzipped(compressed, reference.bytes);
  const digest = createHash('sha256').update(yaml).digest('hex');
  if (digest !== reference.digest) {
    throw new Problem('BUNDLE_WRONG_DIGEST', `the bundle that was brought is ${digest}, wanted is ${reference.digest}`);
  }
  return parseBundle(yaml.toString('utf8'));
}

/** The objects of a manifest: YAML documents, each one object. BUNDLE_UNREADABLE for anything else. */
export function parseBundle(yaml: string): KubeObject[] {
  const objects: KubeObject[] = [];
  try {
    for (const { status: _status, ...object } of readManifest(yaml)) objects.push(object);
  } catch (cause) {
    throw new Problem('BUNDLE_UNREADABLE', messageOf(cause), { cause });
  }
  return objects;
}

async function unzipped(compressed: Uint8Array, bytes: number): Promise<Buffer> {
  try {
    return await unzip(compressed, { maxOutputLength: Math.min(bytes, BundleLimits.maxBytes) });
  } catch (cause) {
    throw new Problem('BUNDLE_WRONG_DIGEST', `the bundle that was brought cannot be unpacked: ${messageOf(cause)}`, {
      cause,
    });
  }
}
