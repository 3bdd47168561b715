import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '@fairlead/errors';
import { failure, usage } from '../failure.js';

interface VerificationOptions {
  readonly verifySsh?: readonly string[];
  readonly verifyGpg?: readonly string[];
  readonly verify?: boolean;
}

interface Verification {
  readonly type: 'gpg' | 'ssh';
  readonly keys: readonly { readonly name: string; readonly publicKey: string }[];
}

/** Whose signatures count; null: nobody's is asked for; undefined: nothing was said. */
export async function verificationFrom(options: VerificationOptions): Promise<Verification | null | undefined> {
  const { verifySsh: ssh = [], verifyGpg: gpg = [], verify } = options;
  const files = [...ssh, ...gpg];
  if (files.length === 0) return verify === false ? null : undefined;
  if (ssh.length > 0 && gpg.length > 0)
    throw usage('commits are verified by SSH keys or by OpenPGP keys', 'choose one');
  const keys = await Promise.all(files.map(async (file) => ({ name: nameOf(file), publicKey: await readKey(file) })));
  if (new Set(keys.map(({ name }) => name)).size < keys.length) {
    throw usage('two files have the same name, which names their keys', 'rename one');
  }
  return { type: ssh.length > 0 ? 'ssh' : 'gpg', keys };
}

/** `alice` of `keys/Alice.pub`. */
function nameOf(file: string): string {
  const name = basename(file)
    .toLowerCase()
    .replace(/\.[a-z]+$/, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63);
  return name.replaceAll(/^-+|-+$/g, '') || 'key';
}

async function readKey(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw failure('NOT_FOUND', `cannot read the key: ${messageOf(error)}`, 'check the path', error);
  });
  if (!/PRIVATE KEY/.test(text)) return text.trim();
  throw usage(`${file} holds a private key`, 'give the public half');
}
