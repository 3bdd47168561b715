import type { Stack } from '@fairlead/stack';
import type { Invitation } from './loose-agent.js';
import { queryDatabase } from './service-database.js';

/** Lets a bootstrap token's time pass, in the database, as no test can wait an hour. Throws if it is not there. */
export async function expireToken(stack: Stack, { token }: Invitation): Promise<void> {
  const statement =
    "UPDATE registration.bootstrap_tokens SET expires_at = now() - interval '1 second' WHERE id = $1 RETURNING id";
  const changed = await queryDatabase(stack, 'registration', statement, [token.split('.')[2]]);
  if (changed.length !== 1) throw new Error(`${changed.length} bootstrap tokens have this id`);
}
