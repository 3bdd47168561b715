import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestAuthority } from './test-authority.js';

/** PEM files as servers take them. */
export interface ServerFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A server's certificate of the authority, and the authority's root, as files in `dir`. Default names: those of loopback. */
export async function writeServerFiles(
  authority: TestAuthority,
  dir: string,
  names: readonly string[] = ['127.0.0.1', 'localhost'],
): Promise<ServerFiles> {
  const { chain, privateKeyPem } = await authority.serving(names);
  const files = { caFile: join(dir, 'ca.crt'), certFile: join(dir, 'server.crt'), keyFile: join(dir, 'server.key') };
  await mkdir(dir, { recursive: true });
  await writeFile(files.caFile, authority.root.certificatePem);
  await writeFile(files.certFile, chain.slice(0, 2).join(''));
  await writeFile(files.keyFile, privateKeyPem, { mode: 0o600 });
  return files;
}
