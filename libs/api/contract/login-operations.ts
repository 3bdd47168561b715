import { LoginSecrets, TenantId, accessRpc } from '@fairlead/contracts';
import { z } from 'zod';
import { empty, json, operationsOf } from './operation.js';

export { LoginSecrets };

const { issuer, token, nonceVerifier } = accessRpc.exchangeToken.input.shape;
const Session = z.string().min(32).max(512).describe('The secret that the first login was answered with.');

export const LoginOptions = accessRpc.listLoginOptions.output.describe('Where people can log in.');
export const NewLogin = z
  .strictObject({
    issuer: issuer.describe('Its name.'),
    token: token.describe('What it signed: the ID token of a person, taken once, or the token of a program.'),
    nonceVerifier: nonceVerifier.describe(
      'For a first login in a browser: the secret whose SHA-256, in base64url, is the nonce of the ID token.',
    ),
    session: Session.optional(),
  })
  .describe('A first login, or the renewal of the one whose session is given.');
export const LoginOptionsQuery = z.strictObject({
  tenant: TenantId.optional().describe('Whose issuers; default: the default tenant’s.'),
});
export const EndedLogin = z.strictObject({ session: Session });

/** What the admin API can do about logins. Whoever logs in has no token yet, so most is public. */
export const loginOperations = operationsOf('logins', {
  listLoginOptions: {
    route: 'GET /v1/login-options',
    summary: 'List where people can log in',
    description:
      'What a command needs to begin a login at an issuer (OpenID Connect). Nothing of it is secret. Of a tenant that is not there: none.',
    auth: 'public',
    query: LoginOptionsQuery,
    answers: [json(200, 'The issuers, by name.', LoginOptions)],
  },
  createLogin: {
    route: 'POST /v1/logins',
    summary: 'Log in, or renew a login',
    description:
      'Gives a short token for one that an issuer signed. A renewal also works when the token before has ended, until the session does.',
    auth: 'public',
    body: NewLogin,
    answers: [json(201, 'Secrets.', LoginSecrets)],
    errors: ['UNAUTHENTICATED', 'DEADLINE_EXCEEDED'],
    next: {
      UNAUTHENTICATED: 'log in again: fairlead login',
      DEADLINE_EXCEEDED: 'the token of the issuer may be used up: log in again, with a new one',
    },
    answersWithinMs: 12_000,
  },
  endCurrentLogin: {
    route: 'DELETE /v1/logins/current',
    summary: 'End the login whose token this is',
    description: 'With all its tokens. Of an API token nothing changes: revoke it. Repeating it does no harm.',
    auth: 'user',
    answers: [empty('It has ended.')],
    errors: ['DEADLINE_EXCEEDED'],
  },
  endLogin: {
    route: 'POST /v1/logins/end',
    summary: 'End a login by the secret of its session',
    description: 'For who has no token that is still good. The answer is the same where there is no such session.',
    auth: 'public',
    body: EndedLogin,
    answers: [empty('It has ended, or never was.')],
    errors: ['DEADLINE_EXCEEDED'],
  },
});
