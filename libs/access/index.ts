/** Who may do what: API tokens and logins, and who it is that shows one. */
import { OutboxRow } from '@fairlead/events';
import * as loginEntities from './store/login-entities.js';
import { LOGIN_MIGRATIONS } from './store/login-migrations.js';
import * as tokenEntities from './store/token-entities.js';
import { TOKEN_MIGRATIONS } from './store/token-migrations.js';

export { checkAdministratorToken, setAdministratorToken } from './feature/administrator-token.js';
export type { LoginsOptions } from './feature/logins.js';
export type { Runtime } from './feature/runtime.js';
export { startAccess, type AccessOptions, type StartedAccess } from './feature/start-access.js';

export const ACCESS_ENTITIES = [...Object.values(tokenEntities), ...Object.values(loginEntities), OutboxRow];
/** In order; their names end in a number that grows. */
export const ACCESS_MIGRATIONS = [...TOKEN_MIGRATIONS, ...LOGIN_MIGRATIONS];
