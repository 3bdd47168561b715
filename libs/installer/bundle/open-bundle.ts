import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { BundleLimits, type BundleReference } from '@fairlead/desired-state';
import { messageOf } from '@fairlead/errors';
import { keyOf, refOf, shown, type KubeObject } from '@fairlead/kube/rest';
import { parseAllDocuments } from 'yaml';
import { Trouble } from '../trouble.js';

const MAX_ALIASES = 100;
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
    throw new Trouble('BUNDLE_WRONG_DIGEST', `the bundle that was brought is ${digest}, wanted is ${reference.digest}`);
  }
  return parseBundle(yaml.toString('utf8'));
}

/** The objects of a manifest: YAML documents, each an object or a List of them. BUNDLE_UNREADABLE for anything else. */
export function parseBundle(yaml: string): KubeObject[] {
  const objects = parseAllDocuments(yaml).flatMap((document, at) => {
    const [problem] = document.errors;
    if (problem) throw unreadable(`document ${at + 1} is not valid YAML`, problem);
    return listed(valueOf(document, at), at);
  });
  if (objects.length > BundleLimits.maxObjects) throw unreadable(`it has more than ${BundleLimits.maxObjects} objects`);
  const seen = new Set<string>();
  for (const object of objects) {
    const key = keyOf(refOf(object));
    if (seen.has(key)) throw unreadable(`it has ${shown(refOf(object))} twice`);
    seen.add(key);
  }
  return objects;
}

async function unzipped(compressed: Uint8Array, bytes: number): Promise<Buffer> {
  try {
    return await unzip(compressed, { maxOutputLength: Math.min(bytes, BundleLimits.maxBytes) });
  } catch (cause) {
    throw new Trouble('BUNDLE_WRONG_DIGEST', `the bundle that was brought cannot be unpacked: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function valueOf(document: { toJS(options: { maxAliasCount: number }): unknown }, at: number): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw unreadable(`document ${at + 1} has too many aliases`, cause);
  }
}

function listed(value: unknown, at: number): KubeObject[] {
  if (value === null) return [];
  const { apiVersion, kind, metadata, items } = value as Record<string, unknown>;
  if (kind === 'List' && Array.isArray(items)) return items.flatMap((item) => listed(item, at));
  const name = (metadata as { name?: unknown } | undefined)?.name;
  if ([apiVersion, kind, name].some((text) => typeof text !== 'string' || text === '')) {
    throw unreadable(`document ${at + 1} has no apiVersion, kind or metadata.name`);
  }
  const { status: _status, ...object } = value as KubeObject;
  return [object];
}

function unreadable(why: string, cause?: unknown): Trouble {
  return new Trouble('BUNDLE_UNREADABLE', `the bundle cannot be used: ${why}`, { cause });
}
