import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProxyCredentials } from '@fairlead/agent';
import { FairleadError, messageOf } from '@fairlead/errors';

const MAX_BYTES = 1_024;

/** Of a mounted Secret of the type kubernetes.io/basic-auth. UNAVAILABLE if there is none: the kubelet may bring it later. */
export async function readProxyCredentials(dir: string): Promise<ProxyCredentials> {
  const [username, password] = await Promise.all([readValue(dir, 'username'), readValue(dir, 'password')]);
  if (username === '' || username.includes(':')) throw unusable(join(dir, 'username'), 'it is empty, or has a colon');
  return { username, password };
}

/** Without the end of its last line, which an editor leaves there. */
async function readValue(dir: string, name: string): Promise<string> {
  const path = join(dir, name);
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let size: number;
  try {
    await using file = await open(path, 'r');
    ({ bytesRead: size } = await file.read(buffer, 0, buffer.length));
  } catch (error) {
    throw unusable(path, messageOf(error));
  }
  if (size > MAX_BYTES) throw unusable(path, `it has more than ${MAX_BYTES} bytes`);
  return buffer.toString('utf8', 0, size).replace(/\r?\n$/, '');
}

function unusable(path: string, why: string): FairleadError {
  return new FairleadError('UNAVAILABLE', `cannot read the proxy's credentials, ${path}: ${why}`);
}
