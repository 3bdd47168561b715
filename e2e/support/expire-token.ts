import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { Client } from 'pg';
import type { Invitation } from './loose-agent.js';

/** Lets a bootstrap token's time pass, in the database, as no test can wait an hour. Throws if it is not there. */
export async function expireToken({ stateDir }: Stack, { token }: Invitation): Promise<void> {
  const url = await readFile(join(stateDir, 'secrets', 'database-registration.url'), 'utf8');
  const [connectionString] = url.trim().split('?');
  const ca = await readFile(join(stateDir, 'infrastructure-ca.crt'), 'utf8');
  const client = new Client({ connectionString, ssl: { ca } });
  await client.connect();
  try {
    const { rowCount } = await client.query(
      "UPDATE registration.bootstrap_tokens SET expires_at = now() - interval '1 second' WHERE id = $1",
      [token.split('.')[2]],
    );
    if (rowCount !== 1) throw new Error(`${rowCount} bootstrap tokens have this id`);
  } finally {
    await client.end();
  }
}
