import { FairleadError } from '@fairlead/errors';

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
