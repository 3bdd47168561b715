import { access, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf } from '@fairlead/errors';
import { failure } from '../failure.js';
import { writePrivateFile } from '../session/login-store.js';

/** Where the parts of a client are, absolute. */
export interface ClientFiles {
  /** Private key, PKCS#8. */
  readonly key: string;
  /** Certificate and the ones it was issued by. */
  readonly certificate: string;
  /** Root of the doors' certificates. */
  readonly authority: string;
}

export function clientFiles(folder: string): ClientFiles {
  const at = (name: string): string => join(resolve(folder), name);
  return { key: at('client.key'), certificate: at('client.crt'), authority: at('ca.crt') };
}

/** ALREADY_EXISTS if one of the files is there. */
export async function refuseExisting(files: ClientFiles): Promise<void> {
  for (const path of Object.values(files) as string[]) {
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (!exists) continue;
    throw failure('ALREADY_EXISTS', `${path} exists`, 'choose another folder, or add --force to replace what is there');
  }
}

/** Writes them for their owner only, and makes the folder if it is missing. */
export async function writeClientFiles(
  folder: string,
  text: { readonly [Part in keyof ClientFiles]: string },
): Promise<ClientFiles> {
  const files = clientFiles(folder);
  await mkdir(resolve(folder), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw failure('INTERNAL', `cannot make ${folder}: ${messageOf(error)}`, 'choose another folder', error);
  });
  // The key last: it fits the certificate beside it whenever it is there.
  await writePrivateFile(files.authority, text.authority);
  await writePrivateFile(files.certificate, text.certificate);
  await writePrivateFile(files.key, text.key);
  return files;
}
