export {
  AccessStatement,
  CLOCK_LEEWAY_MS,
  lifeOf,
  MAX_LOGIN_STATEMENT_MS,
  MAX_STATEMENT_BYTES,
  MAX_TOKEN_STATEMENT_MS,
  type StatementLife,
} from './access-statement.js';
export {
  StatementRevocations,
  MAX_LOCKED,
  MAX_REQUIRED,
  MAX_REVOKED,
  MAX_REVOCATIONS_BYTES,
  readStatementRevocations,
  RevokedIndex,
  writeStatementRevocations,
  type RevokedStatements,
} from './statement-revocations.js';
export { joinBearer, splitBearer, type Bearer } from './bearer.js';
export { MAX_ENVELOPE_BYTES } from './envelope.js';
export { openStatementRevocations, signStatementRevocations } from './signed-statement-revocations.js';
export { signAccessStatement } from './signed-access-statement.js';
export { SignedTime } from './signed-time.js';
export { StatementVerifier, type StatementRoots, type VerifiedStatement } from './statement-verifier.js';
