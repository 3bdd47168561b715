import { z } from 'zod';
import { CaRotation, CaStatus, ClusterName, WaitedCluster } from '@fairlead/contracts';
import { json, operationsOf } from './operation.js';

const NamedWaitedCluster = WaitedCluster.extend({ name: ClusterName.nullable().describe('Null: of another tenant.') });

export const CertificateAuthority = CaStatus.extend({
  rotation: CaRotation.extend({ waitingFor: z.array(NamedWaitedCluster).max(100) }).nullable(),
});
export type CertificateAuthority = z.infer<typeof CertificateAuthority>;

export const CaStep = z
  .strictObject({
    force: z.boolean().default(false).describe('Go on although somebody is waited for: they are cut off.'),
  })
  .describe('One step of a rotation.');

const shown = json(200, 'The CA after it.', CertificateAuthority);

/** What the admin API can do about the CA. Steps of a rotation are asked for one by one, and repeated without harm. */
export const caOperations = operationsOf('ca', {
  getCa: {
    route: 'GET /v1/ca',
    summary: 'Show roots and issuing CAs, and how far a rotation is',
    auth: 'installation',
    answers: [{ ...shown, description: 'The CA.' }],
  },
  prepareCa: {
    route: 'POST /v1/ca/rotation',
    summary: 'Make the next root, and make it known',
    auth: 'installation',
    description: 'Every replica and every agent is told to trust it as well. Nothing is signed by it yet.',
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  activateCa: {
    route: 'POST /v1/ca/rotation/activation',
    summary: 'Sign by the next root from now on',
    auth: 'installation',
    description:
      'Refused until every replica and every agent that could still come back trusts the next root. The old one stays trusted.',
    body: CaStep,
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  retireCa: {
    route: 'POST /v1/ca/rotation/retirement',
    summary: 'Trust the old root no longer',
    auth: 'installation',
    description:
      'Refused while a certificate of the old root could still be used or renewed. Whoever has nothing newer is imported again.',
    body: CaStep,
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  abortCa: {
    route: 'DELETE /v1/ca/rotation',
    summary: 'Take a prepared root back',
    auth: 'installation',
    description: 'Only before it is activated.',
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
});
