import { readFile, stat } from 'node:fs/promises';
import { messageOf } from '@fairlead/errors';
import { failure, usage } from '../failure.js';
import type { Input, Io } from '../io.js';
import { askHidden } from './prompt.js';

const MAX_TOKEN_BYTES = 4_096;

/** The token from a file, from standard input, or asked for without echo: never from an argument, which others can see. */
export async function readToken(io: Io, file: string | undefined): Promise<string> {
  const text = await readText(io, file, 'API token');
  const token = text.trim();
  if (/^[A-Za-z0-9._~+/-]{16,512}=*$/.test(token)) return token;
  throw usage(
    token === '' ? 'the token is empty' : 'this is not an API token',
    'pass the file that holds it with --token-file, or pipe it in',
  );
}

/** The token of a Git host, likewise. A file that others can read is refused: they would have it, too. */
export async function readGitToken(io: Io, file: string | undefined): Promise<string> {
  if (file !== undefined && file !== '-') await refuseSharedFile(file);
  const token = (await readText(io, file, 'token of the Git host')).trim();
  if (/^[\x21-\x7e]{8,1000}$/.test(token)) return token;
  const what = token === '' ? 'the token is empty' : 'this is not a token of a Git host';
  throw usage(
    what,
    'pass the file that holds it with --token-file, or pipe it in; --keep-token keeps the one there is',
  );
}

async function refuseSharedFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (!found || (found.mode & 0o077) === 0 || process.platform === 'win32') return;
  throw usage(`others can read ${file}`, `chmod 600 ${file}`);
}

function readText(io: Io, file: string | undefined, what: string): Promise<string> {
  if (file !== undefined && file !== '-') return readTokenFile(file);
  if (file === undefined && io.stdin.isTTY) return askHidden(io, `${what} (not shown): `);
  return readPiped(io.stdin, 'token', MAX_TOKEN_BYTES);
}

async function readTokenFile(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).slice(0, MAX_TOKEN_BYTES);
  } catch (error) {
    throw failure(
      'NOT_FOUND',
      `cannot read the token: ${messageOf(error)}`,
      'check the path given to --token-file',
      error,
    );
  }
}

/** All of standard input. INVALID_ARGUMENT, of the command line, if there is more than so many characters. */
export async function readPiped(stdin: Input, what: string, mostCharacters: number): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > mostCharacters) throw usage(`this is far too long for a ${what}`, `pipe in the ${what} alone`);
  }
  return text;
}
