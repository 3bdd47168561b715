import { IssuedStatement, StatementSeconds } from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';
import { ClusterByName } from './schemas.js';

export const AskedCredential = z
  .strictObject({
    seconds: StatementSeconds.optional().describe(
      'How long it is to open connections for, at most. Default: what its token may.',
    ),
  })
  .describe('What is wanted of a credential for one cluster.');
export const Credential = IssuedStatement.omit({ envelope: true })
  .extend({
    statement: z
      .string()
      .max(43_696)
      .regex(/^[A-Za-z0-9_-]+$/)
      .describe(
        'Base64url, to be sent to a door behind the token and a tilde: `Authorization: Bearer <token>~<statement>`.',
      ),
  })
  .describe(
    'A signed access statement: what whoever asks may do in the cluster. No secret, and worth nothing without their token.',
  );

/** What whoever has a token carries beside it. */
export const credentialOperations = operationsOf('clusters', {
  createCredential: {
    route: 'POST /v1/clusters/{name}/credential',
    summary: 'Have signed what one may do in a cluster',
    description:
      'The statement says what is granted now to whoever asks, and ends with the first grant that ends, after 30 minutes for a login, after 90 days beside an API token. The agent holds each request to it.',
    auth: 'user',
    params: ClusterByName,
    body: AskedCredential,
    answers: [json(200, 'Signed.', Credential)],
    errors: ['NOT_FOUND', 'TOO_LARGE'],
    next: {
      NOT_FOUND: 'see which clusters you may use: fairlead cluster list',
      FORBIDDEN: 'wait until it is lifted, or ask an administrator',
      TOO_LARGE: 'have what is granted to you gathered in fewer grants',
    },
    answersWithinMs: 17_000,
  },
});
