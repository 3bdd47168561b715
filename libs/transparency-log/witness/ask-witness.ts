import { startDeadline } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import { parseCheckpoint } from '../checkpoint/checkpoint.js';
import { proveConsistency } from '../merkle/proofs.js';
import type { NoteVerifier } from '../note/keys.js';
import { formatNote, isOf, parseNote, parseSignatures, type NoteSignature } from '../note/signed-note.js';
import type { TileReader } from '../tiles/tile-reader.js';
import { SIZE_MEDIA_TYPE, decodeSize, encodeAddCheckpoint, type AddCheckpoint } from './add-checkpoint.js';

/** A witness as it is set up: where it is, and the key that we know it by. */
export interface Witness {
  /** Its submission prefix. */
  readonly url: URL;
  readonly key: NoteVerifier;
}

/** Why a witness does not cosign:
 * - `fork`: it has seen another tree, or the proof does not lead from what it has seen to this checkpoint
 * - `unknown-log`: it knows no log of this origin
 * - `untrusted-key`: it does not know the key that signed the checkpoint
 * - `malformed`: it takes the request for none, or the checkpoint for older than what it has seen
 * - `other`: anything else, which may be over later
 */
export type WitnessRefusal = 'fork' | 'unknown-log' | 'untrusted-key' | 'malformed' | 'other';

export type WitnessAnswer =
  | { readonly kind: 'cosigned'; readonly signature: NoteSignature }
  /** It cosigned another size last: prove from that one. */
  | { readonly kind: 'at-other-size'; readonly size: number }
  | { readonly kind: 'refused'; readonly why: WitnessRefusal; readonly status: number };

export interface AskOptions {
  readonly signal: AbortSignal;
  /** For one request, its answer included. */
  readonly timeoutMs: number;
  /** Absent: Node's own. One that trusts another CA, or goes through a proxy, otherwise. */
  readonly fetch?: typeof fetch;
}

export interface WitnessedCheckpoint {
  /** The signed note of the log. */
  readonly checkpoint: Uint8Array;
  /** What this witness cosigned last, if that is known; 0 asks it. */
  readonly lastSize: number;
  readonly reader: TileReader;
}

const MAX_ANSWER_BYTES = 64 * 1024;
const REFUSALS: Readonly<Record<number, WitnessRefusal>> = {
  400: 'malformed',
  403: 'untrusted-key',
  404: 'unknown-log',
  // Of equal sizes and different roots, before version 1.1 of the format.
  409: 'fork',
  422: 'fork',
};

/**
 * Has a witness cosign a checkpoint, with the proof from where it is. Where it is elsewhere than was thought it says so, and is asked
 * once more. Throws UNAVAILABLE when it cannot be reached or answers nonsense, and what the reader throws.
 */
export async function cosignByWitness(
  witness: Witness,
  { checkpoint, lastSize, reader }: WitnessedCheckpoint,
  options: AskOptions,
): Promise<WitnessAnswer> {
  const { size } = parseCheckpoint(parseNote(checkpoint).text);
  const ask = async (oldSize: number): Promise<WitnessAnswer> => {
    const proof = await proveConsistency(reader, oldSize, size);
    return addCheckpoint(witness, { oldSize, proof, checkpoint }, options);
  };
  const answer = await ask(Math.min(lastSize, size));
  // One that is ahead of us has cosigned what we do not have: our log was set back, and goes on no more under this origin.
  return answer.kind === 'at-other-size' && answer.size <= size ? ask(answer.size) : answer;
}

/** One request to a witness. Throws UNAVAILABLE when it cannot be reached in time or answers nonsense. */
export async function addCheckpoint(
  witness: Witness,
  request: AddCheckpoint,
  options: AskOptions,
): Promise<WitnessAnswer> {
  const late = (): FairleadError => unavailable(witness, 'it did not answer in time');
  const deadline = startDeadline(options.signal, options.timeoutMs, late);
  try {
    const answer = await (options.fetch ?? fetch)(requestUrl(witness.url), {
      method: 'POST',
      body: encodeAddCheckpoint(request),
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      redirect: 'error',
      signal: deadline.signal,
    });
    return readAnswer(witness, request, answer, await readBody(witness, answer));
  } catch (cause) {
    options.signal.throwIfAborted();
    throw cause instanceof FairleadError ? cause : unavailable(witness, reasonOf(cause), cause);
  } finally {
    deadline.clear();
  }
}

/** A checkpoint with more lines below it; one of a key that is there already takes its place. */
export function addSignatures(note: Uint8Array, added: readonly NoteSignature[]): Buffer {
  const { text, signatures } = parseNote(note);
  const kept = signatures.filter((old) => !added.some(({ name, keyId }) => old.name === name && old.keyId === keyId));
  return formatNote({ text, signatures: [...kept, ...added] });
}

function readAnswer(witness: Witness, request: AddCheckpoint, answer: Response, body: Uint8Array): WitnessAnswer {
  if (answer.status === 200) return { kind: 'cosigned', signature: readCosignature(witness, request, body) };
  const isSize = answer.headers.get('content-type')?.split(';')[0]?.trim() === SIZE_MEDIA_TYPE;
  if (answer.status !== 409 || !isSize)
    return { kind: 'refused', why: REFUSALS[answer.status] ?? 'other', status: answer.status };
  const size = decodeSize(body);
  if (size === undefined) throw unavailable(witness, 'it answered 409 with no size');
  return { kind: 'at-other-size', size };
}

function readCosignature({ url, key }: Witness, { checkpoint }: AddCheckpoint, body: Uint8Array): NoteSignature {
  const line = parseSignatures(Buffer.from(body).toString('utf8')).find((signature) => isOf(key, signature));
  if (!line) throw unavailable({ url, key }, 'it answered no cosignature of the key that we know it by');
  if (!key.verify(parseNote(checkpoint).text, line.signature))
    throw unavailable({ url, key }, 'its cosignature does not match the checkpoint');
  return line;
}

async function readBody(witness: Witness, { body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw unavailable(witness, `it answered more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function requestUrl(prefix: URL): URL {
  return new URL(`${prefix.href.replace(/\/+$/, '')}/add-checkpoint`);
}

function reasonOf(cause: unknown): string {
  const inner = (cause as { cause?: unknown }).cause;
  return `it could not be asked (${messageOf(inner ?? cause)})`;
}

function unavailable({ key }: Witness, why: string, cause?: unknown): FairleadError {
  return new FairleadError('UNAVAILABLE', `the witness ${key.name} did not cosign: ${why}`, { cause });
}
