/** Who may do what: API tokens, and who it is that shows one. */
import { OutboxRow } from '@fairlead/events';
import * as tokenEntities from './store/token-entities.js';
import { TOKEN_MIGRATIONS } from './store/token-migrations.js';

export { checkAdministratorToken, setAdministratorToken } from './feature/administrator-token.js';
export type { Runtime } from './feature/runtime.js';
export { startAccess, type StartedAccess } from './feature/start-access.js';

export const ACCESS_ENTITIES = [...Object.values(tokenEntities), OutboxRow];
/** In order; their names end in a number that grows. */
export const ACCESS_MIGRATIONS = [...TOKEN_MIGRATIONS];
