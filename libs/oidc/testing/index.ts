export { answerJson, newSigningKey, startTestIssuer, type SigningKey, type TestIssuer } from './test-issuer.js';
