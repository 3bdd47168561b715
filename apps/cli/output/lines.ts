import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { resolve } from 'node:path';
import { messageOf } from '@fairlead/errors';
import { failure, usage } from '../failure.js';

/** Writes lines, as fast as they are taken. What would move a cursor or change direction is escaped as in JSON. */
export function lineWriter(output: Writable): (line: string) => Promise<void> {
  return async (line) => {
    if (output.errored) throw output.errored;
    const harmless = line.replaceAll(/[\p{Cc}\p{Cf}]/gu, escaped);
    if (!output.write(`${harmless}\n`)) await once(output, 'drain');
  };
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** For its owner only. INVALID_ARGUMENT, of the command line, if there is such a file already. */
export async function newFile(path: string): Promise<Writable> {
  const file = await open(resolve(path), 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw usage(`${path} is there already`, 'name a file that is not there yet');
    throw failure('INTERNAL', `cannot write ${path}: ${messageOf(error)}`, 'choose another file', error);
  });
  // Whoever writes the next line, or closes it, hears of it.
  return file.createWriteStream().on('error', () => undefined);
}

/** Everything is written, or it fails. */
export async function closed(output: Writable): Promise<void> {
  output.end();
  await finished(output);
}
