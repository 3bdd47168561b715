export { checkIssuer, type IssuerSource } from './issuer-source.js';
export { IssuerKeys, type IssuerKeysOptions } from './issuer-keys.js';
export {
  TOKEN_LEEWAY_SECONDS,
  signedPart,
  verifyToken,
  type ExpectedToken,
  type VerifiedToken,
} from './verify-token.js';
