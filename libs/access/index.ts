/** Who may do what: API tokens, who it is that shows one, and what is granted to whom. */
import { ChangedKeyRow, OutboxRow } from '@fairlead/events';
import { AccessRequestRow, GrantRow, LockdownRow } from './store/grant-entities.js';
import { GRANT_MIGRATIONS } from './store/grant-tables.js';
import * as tokenEntities from './store/token-entities.js';
import { TOKEN_MIGRATIONS } from './store/token-migrations.js';

export { checkAdministratorToken, setAdministratorToken } from './feature/administrator-token.js';
export type { Runtime } from './feature/runtime.js';
export { startAccess, type StartedAccess } from './feature/start-access.js';

export const ACCESS_ENTITIES = [
  ...Object.values(tokenEntities),
  GrantRow,
  AccessRequestRow,
  LockdownRow,
  ChangedKeyRow,
  OutboxRow,
];
/** In order; their names end in a number that grows. */
export const ACCESS_MIGRATIONS = [...TOKEN_MIGRATIONS, ...GRANT_MIGRATIONS];
