import { FairleadError } from '@fairlead/errors';
import { isAlias, isMap, isScalar, isSeq, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { BundleLimits } from './bundle-limits.js';

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

/** The largest definition of Argo CD has about 1 MB. */
const MAX_DOCUMENT_BYTES = 2 * 1_048_576;
/** Twice what the largest definition has; of a whole manifest, three times what Argo CD's has. */
const MAX_MARKS = { document: 100_000, manifest: 300_000 } as const;
const MAX_DEPTH = 200;
/** `- - - a` nests as deeply as brackets do, within one line. */
const MAX_RUN = 32;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACES = new Set([0x20, 0x09]);
const OPENING = codesOf('[{');
const CLOSING = codesOf(']}');
const OTHERS = codesOf(`,"'&*!`);
/** They mean something only before a space or the end of a line. */
const INDICATORS = codesOf('-?:');

/**
 * What reading YAML costs is in its nodes, not its bytes: 2 MB may be a million of them and a gigabyte of memory. So the characters
 * without which there is no further node are counted before anything is read, in linear time; those within texts count too.
 * Throws TOO_LARGE.
 */
export class ManifestBounds {
  #marks = 0;

  /** Takes the next document. */
  take(text: string, number: number): void {
    if (text.length > MAX_DOCUMENT_BYTES) throw tooLarge(`${MAX_DOCUMENT_BYTES} bytes in document ${number}`);
    const { marks, depth, run } = measure(text);
    if (marks > MAX_MARKS.document) throw tooLarge(`${MAX_MARKS.document} values in document ${number}`);
    if (depth > MAX_DEPTH || run > MAX_RUN) throw tooLarge(`${MAX_DEPTH} levels in document ${number}`);
    this.#marks += marks;
    if (this.#marks > MAX_MARKS.manifest) throw tooLarge(`${MAX_MARKS.manifest} values`);
  }
}

function measure(text: string): { marks: number; depth: number; run: number } {
  let [marks, depth, deepest, run, longest] = [0, 0, 0, 0, 0];
  let lineBegins = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (SPACES.has(code)) continue;
    if (code === LINE_FEED || code === CARRIAGE_RETURN) {
      marks += 1;
      run = 0;
      lineBegins = true;
      continue;
    }
    const indicates = INDICATORS.has(code) && endsWord(text, at + 1);
    if (indicates || OTHERS.has(code) || OPENING.has(code) || CLOSING.has(code)) marks += 1;
    if (OPENING.has(code)) deepest = Math.max(deepest, (depth += 1));
    if (CLOSING.has(code)) depth = Math.max(0, depth - 1);
    if (!indicates) lineBegins = false;
    if (lineBegins) longest = Math.max(longest, (run += 1));
  }
  return { marks, depth: deepest, run: longest };
}

function endsWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return at >= text.length || SPACES.has(code) || code === LINE_FEED || code === CARRIAGE_RETURN;
}

function codesOf(characters: string): ReadonlySet<number> {
  return new Set(Array.from(characters, (character) => character.charCodeAt(0)));
}

/** The refusal of a manifest that is beyond a limit. */
export function tooLarge(limit: string): FairleadError {
  return new FairleadError('TOO_LARGE', `the bundle is refused: it has more than ${limit}`);
}
