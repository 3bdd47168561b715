import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '@fairlead/contracts';
import type { Stack } from '@fairlead/stack';
import { Client, type QueryResultRow } from 'pg';

/** Rows of a statement, as the service's own role may run it. For what no test can wait for, or see otherwise. */
export async function queryDatabase<Row extends QueryResultRow>(
  stack: Stack,
  service: Service,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = await connectAs(stack, service);
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** A connection of one's own, as the service's role: for what has to be held. To be ended. */
export async function connectAs({ stateDir }: Stack, service: Service): Promise<Client> {
  const url = await readFile(join(stateDir, 'secrets', `database-${service}.url`), 'utf8');
  const ca = await readFile(join(stateDir, 'infrastructure-ca.crt'), 'utf8');
  const [connectionString] = url.trim().split('?');
  const client = new Client({ connectionString, ssl: { ca } });
  await client.connect();
  return client;
}
