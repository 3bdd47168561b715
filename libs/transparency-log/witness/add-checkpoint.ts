import { FairleadError } from '@fairlead/errors';
import { HASH_BYTES, requireSize, type Hash } from '../merkle/hashes.js';

/** What a witness is asked: to cosign a checkpoint that goes on from the one it cosigned last (C2SP tlog-witness). */
export interface AddCheckpoint {
  /** Of the last checkpoint that the witness cosigned; 0 if none. */
  readonly oldSize: number;
  /** From the old size to the checkpoint's; empty from 0, and where they are equal. */
  readonly proof: readonly Hash[];
  /** The signed note. */
  readonly checkpoint: Uint8Array;
}

/** A tree of 2^63 records needs no more. */
const MAX_PROOF_LINES = 63;
const OLD_SIZE = /^old (0|[1-9]\d{0,15})$/;
const HASH = /^[A-Za-z0-9+/]{43}=$/;
const SIZE_LINE = /^(0|[1-9]\d{0,15})\n$/;

/** The media type of the size that a witness answers with when it is at another one. */
export const SIZE_MEDIA_TYPE = 'text/x.tlog.size';

export function encodeAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): Buffer {
  requireSize(oldSize, 'the old size');
  const lines = proof.map((hash) => `${Buffer.from(hash).toString('base64')}\n`);
  return Buffer.concat([Buffer.from(`old ${oldSize}\n${lines.join('')}\n`), checkpoint]);
}

/** Reads a request. Throws INVALID_ARGUMENT where it is malformed; the checkpoint is not looked into. */
export function decodeAddCheckpoint(body: Uint8Array): AddCheckpoint {
  const bytes = Buffer.from(body);
  const end = bytes.indexOf('\n\n');
  if (end < 0) throw malformed('no empty line is before the checkpoint');
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\n');
  const [, digits] = OLD_SIZE.exec(first) ?? [];
  const oldSize = Number(digits);
  if (!Number.isSafeInteger(oldSize)) throw malformed('its first line is no old size');
  if (lines.length > MAX_PROOF_LINES) throw malformed(`its proof has more than ${MAX_PROOF_LINES} hashes`);
  return { oldSize, proof: lines.map(decodeHash), checkpoint: bytes.subarray(end + 2) };
}

/** The size in a 409 of `SIZE_MEDIA_TYPE`; undefined for what is none. */
export function decodeSize(body: Uint8Array): number | undefined {
  const [, digits] = SIZE_LINE.exec(Buffer.from(body).toString('latin1')) ?? [];
  const size = Number(digits);
  return Number.isSafeInteger(size) ? size : undefined;
}

function decodeHash(line: string): Hash {
  const hash = Buffer.from(line, 'base64');
  if (!HASH.test(line) || hash.length !== HASH_BYTES || hash.toString('base64') !== line)
    throw malformed('a line of its proof is no hash');
  return hash;
}

function malformed(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this is no request to a witness: ${why}`);
}
