/** Who may do what: API tokens and logins, who it is that shows one, and what is granted to whom. */
import { ChangedKeyRow, OutboxRow } from '@fairlead/events';
import { AccessRequestRow, GrantRow, LockdownRow } from './store/grant-entities.js';
import { GRANT_MIGRATIONS } from './store/grant-tables.js';
import * as loginEntities from './store/login-entities.js';
import { LOGIN_MIGRATIONS } from './store/login-migrations.js';
import { ENDED_TENANT_MIGRATIONS } from './store/ended-tenant-migrations.js';
import { REVOCATION_MIGRATIONS } from './store/revocation-migrations.js';
import * as tokenEntities from './store/token-entities.js';
import { TOKEN_MIGRATIONS } from './store/token-migrations.js';

export { checkAdministratorToken, setAdministratorToken } from './feature/administrator-token.js';
export type { LoginsOptions } from './feature/logins.js';
export type { Runtime } from './feature/runtime.js';
export { startAccess, type AccessOptions, type StartedAccess } from './feature/start-access.js';

export const ACCESS_ENTITIES = [
  ...Object.values(tokenEntities),
  ...Object.values(loginEntities),
  GrantRow,
  AccessRequestRow,
  LockdownRow,
  ChangedKeyRow,
  OutboxRow,
];
/** In order; their names end in a number that grows. */
export const ACCESS_MIGRATIONS = [
  ...TOKEN_MIGRATIONS,
  ...GRANT_MIGRATIONS,
  ...LOGIN_MIGRATIONS,
  ...REVOCATION_MIGRATIONS,
  ...ENDED_TENANT_MIGRATIONS,
];
