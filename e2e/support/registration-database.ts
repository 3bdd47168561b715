import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { Client, type QueryResultRow } from 'pg';

/** Rows of a statement, as registration's own role may run it. For what no test can wait for, or see otherwise. */
export async function queryRegistration<Row extends QueryResultRow>(
  { stateDir }: Stack,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const url = await readFile(join(stateDir, 'secrets', 'database-registration.url'), 'utf8');
  const client = new Client({ connectionString: url.trim() });
  await client.connect();
  try {
    return (await client.query<Row>(statement, [...values])).rows;
  } finally {
    await client.end();
  }
}
