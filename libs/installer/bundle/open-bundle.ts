import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { BundleLimits, type BundleReference } from '@fairlead/desired-state';
import { readManifest } from '@fairlead/desired-state/manifest';
import { messageOf } from '@fairlead/errors';
import type { KubeObject } from '@fairlead/kube/rest';
import { Problem } from '../problem.js';

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
