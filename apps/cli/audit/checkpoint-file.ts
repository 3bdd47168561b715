import { readFile, stat } from 'node:fs/promises';
import { openCheckpoint, parseVerifierKey, type OpenedCheckpoint } from '@fairlead/transparency-log';
import { z } from 'zod';
import { failure } from '../failure.js';
import { parseJson } from '../session/parse-json.js';
import { isSameKey } from './verified-head.js';

/** A line of the files that `keys` writes. */
const Line = z.looseObject({
  origin: z.string().min(1),
  verifierKey: z.string().min(1),
  checkpoint: z.string().min(1),
});

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** As it was when it was read. */
export interface CheckpointFile {
  readonly path: string;
  readonly text: string;
}

/** INVALID_ARGUMENT. */
export async function readCheckpointFile(path: string): Promise<CheckpointFile> {
  const { size } = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, 'it cannot be read', cause);
  });
  if (size > MAX_FILE_BYTES) throw unreadable(path, `it has more than ${MAX_FILE_BYTES} bytes`);
  return { path, text: await readFile(path, 'utf8') };
}

/**
 * The checkpoints in a file: lines of JSON as `keys` writes them, or one checkpoint as it stands (C2SP tlog-checkpoint). Each is signed by the key that is believed, or it throws: a
 * file with one that is not is no evidence.
 */
export function checkpointsIn({ path, text }: CheckpointFile, verifierKey: string): OpenedCheckpoint[] {
  if (!text.startsWith('{')) return [opened(text, verifierKey)];
  // A line that was being written when the machine stopped has no end.
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  return lines.map((line, index) => {
    const parsed = Line.safeParse(parseJson(line));
    if (!parsed.success) throw unreadable(path, `line ${index + 1} is no checkpoint`);
    const { origin, verifierKey: named, checkpoint } = parsed.data;
    if (!isSameKey(named, verifierKey))
      throw unreadable(path, `line ${index + 1} is of another key than ${verifierKey}`);
    return openCheckpoint(Buffer.from(checkpoint), origin, [parseVerifierKey(named)]);
  });
}

function opened(note: string, verifierKey: string): OpenedCheckpoint {
  const key = parseVerifierKey(verifierKey);
  return openCheckpoint(Buffer.from(note), key.name, [key]);
}

function unreadable(path: string, why: string, cause?: unknown): Error {
  return failure(
    'INVALID_ARGUMENT',
    `${path} is no file of checkpoints of this log: ${why}`,
    'give the file of the tenant’s log',
    cause,
  );
}
