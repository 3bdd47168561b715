import { FairleadError } from '@fairlead/errors';
import { isAlias, isMap, isScalar, isSeq, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { BundleLimits } from './bundle-limits.js';
import { ManifestBounds, tooLarge } from './manifest-bounds.js';

/** Upstream's manifests have no aliases at all. */
const MAX_ALIASES = 20;

const ManifestObject = z.looseObject({
  apiVersion: z.string().min(1).max(253),
  kind: z.string().min(1).max(63),
  metadata: z.looseObject({ name: z.string().min(1).max(253), namespace: z.string().max(63).exactOptional() }),
});
/** A Kubernetes object as a manifest has it. */
export type ManifestObject = z.infer<typeof ManifestObject>;

/**
 * The objects of a bundle's YAML, one document after the other: what is counted and shown where a bundle is stored is what is applied
 * in the cluster, and whoever stored it had room to read it. Throws, when it comes to it, INVALID_ARGUMENT for what is not YAML, not one
 * Kubernetes object a document, or an object twice; TOO_LARGE beyond the limits.
 */
export function* readManifest(yaml: string): Generator<ManifestObject, void, void> {
  const bounds = new ManifestBounds();
  const seen = new Set<string>();
  for (const [index, text] of documentsOf(yaml).entries()) {
    bounds.take(text, index + 1);
    const value = readDocument(text, index + 1);
    if (value === null || value === undefined) continue;
    const { success, data } = ManifestObject.safeParse(value);
    if (!success) throw invalidManifest(`document ${index + 1} is no Kubernetes object`);
    if (data.kind === 'List') throw invalidManifest(`document ${index + 1} is a List: its objects have to stand alone`);
    const key = JSON.stringify(identityOf(data));
    if (seen.has(key)) throw invalidManifest(`it has ${shown(data)} twice`);
    seen.add(key);
    if (seen.size > BundleLimits.maxObjects) throw tooLarge(`${BundleLimits.maxObjects} objects`);
    yield data;
  }
}

/** `---` at the start of a line begins a document wherever it stands: https://yaml.org/spec/1.2.2/#912-document-markers */
function documentsOf(text: string): string[] {
  return text.split(/^---(?=[ \t\r\n]|$)/m);
}

function readDocument(text: string, number: number): unknown {
  // The library compares each key with each other: 20,000 of them take it a quarter of a minute.
  const document = parsed(text, number);
  if (document.errors.length > 0) throw invalidManifest(`document ${number} is not YAML`);
  const aliases = checkNodes(document.contents, number);
  if (aliases > MAX_ALIASES) throw invalidManifest(`document ${number} has too many aliases`);
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch (cause) {
    throw invalidManifest(`document ${number} has too many aliases`, cause);
  }
}

function parsed(text: string, number: number): Document {
  try {
    // 'silent' would hide that more documents follow, after a `...`.
    return parseDocument(text, { logLevel: 'error', merge: false, uniqueKeys: false, prettyErrors: false });
  } catch (cause) {
    // Nested so deeply that the stack ended.
    throw invalidManifest(`document ${number} cannot be read`, cause);
  }
}

/** Each key once, and each a text or number. Returns the number of aliases. */
function checkNodes(root: unknown, number: number): number {
  let aliases = 0;
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (isAlias(node)) aliases += 1;
    else if (isSeq(node)) for (const item of node.items) waiting.push(item);
    else if (isMap(node)) {
      const keys = new Set<string>();
      for (const { key, value } of node.items) {
        if (!isScalar(key)) throw invalidManifest(`document ${number} has a key that is no text`);
        const name = String(key.value);
        if (keys.has(name)) throw invalidManifest(`document ${number} is not YAML: it has a key twice`);
        keys.add(name);
        waiting.push(value);
      }
    }
  }
  return aliases;
}

/** The group without the version: an object is the same in all of them. */
function identityOf({ apiVersion, kind, metadata }: ManifestObject): string[] {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return [group, kind, metadata.namespace ?? '', metadata.name];
}

function shown({ kind, metadata: { namespace, name } }: ManifestObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** The refusal of a manifest that is none. */
export function invalidManifest(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the bundle is refused: ${why}`, { cause });
}
