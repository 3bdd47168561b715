import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { succeed } from './invitation.js';
import type { Way } from './system.js';

/** A client certificate for the CONNECT door, as the command made it. */
export type DoorClient = Pick<Way, 'caPem' | 'certPem' | 'keyPem'>;

/** Throws BenchError with what the command said if it fails. */
export async function createDoorClient(stack: Stack, name: string, cluster: string, dir: string): Promise<DoorClient> {
  await succeed(stack, ['client', 'create', name, '--cluster', cluster, '--out', dir]);
  const read = (file: string): Promise<string> => readFile(join(dir, file), 'utf8');
  const [caPem, certPem, keyPem] = await Promise.all([read('ca.crt'), read('client.crt'), read('client.key')]);
  return { caPem, certPem, keyPem };
}
