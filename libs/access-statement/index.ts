export {
  AccessStatement,
  assertLife,
  CLOCK_LEEWAY_MS,
  MAX_LOGIN_STATEMENT_MS,
  MAX_STATEMENT_BYTES,
  MAX_TOKEN_STATEMENT_MS,
} from './access-statement.js';
export {
  AccessRevocations,
  MAX_LOCKED,
  MAX_REQUIRED,
  MAX_REVOCATIONS_BYTES,
  readAccessRevocations,
  RevokedIndex,
  writeAccessRevocations,
  type RevokedStatements,
} from './access-revocations.js';
export { joinBearer, splitBearer, type Bearer } from './bearer.js';
export { MAX_ENVELOPE_BYTES } from './envelope.js';
export { openAccessRevocations, signAccessRevocations } from './signed-access-revocations.js';
export { signAccessStatement } from './signed-access-statement.js';
export { SignedTime } from './signed-time.js';
export { StatementVerifier, type StatementRoots, type VerifiedStatement } from './statement-verifier.js';
