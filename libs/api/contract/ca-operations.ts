import { z } from 'zod';
import { CaRotation, CaStatus, ClusterName, WaitedCluster } from '@fairlead/contracts';
import type { Operation } from './operation.js';

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

const shown = {
  kind: 'json',
  status: 200,
  description: 'The CA after it.',
  schema: CertificateAuthority,
} as const;

/** What the admin API can do about the CA. Steps of a rotation are asked for one by one, and repeated without harm. */
export const caOperations = {
  getCa: {
    id: 'getCa',
    method: 'GET',
    path: '/v1/ca',
    tag: 'ca',
    summary: 'Show roots and issuing CAs, and how far a rotation is',
    auth: 'bearer',
    answers: [{ ...shown, description: 'The CA.' }],
    errors: [],
  },
  prepareCa: {
    id: 'prepareCa',
    method: 'POST',
    path: '/v1/ca/rotation',
    tag: 'ca',
    summary: 'Make the next root, and make it known',
    description: 'Every replica and every agent is told to trust it as well. Nothing is signed by it yet.',
    auth: 'bearer',
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  activateCa: {
    id: 'activateCa',
    method: 'POST',
    path: '/v1/ca/rotation/activation',
    tag: 'ca',
    summary: 'Sign by the next root from now on',
    description:
      'Refused until every replica and every agent that could still come back trusts the next root. The old one stays trusted.',
    auth: 'bearer',
    body: CaStep,
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  retireCa: {
    id: 'retireCa',
    method: 'POST',
    path: '/v1/ca/rotation/retirement',
    tag: 'ca',
    summary: 'Trust the old root no longer',
    description:
      'Refused while a certificate of the old root could still be used or renewed. Whoever has nothing newer is imported again.',
    auth: 'bearer',
    body: CaStep,
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  abortCa: {
    id: 'abortCa',
    method: 'DELETE',
    path: '/v1/ca/rotation',
    tag: 'ca',
    summary: 'Take a prepared root back',
    description: 'Only before it is activated.',
    auth: 'bearer',
    answers: [shown],
    errors: ['CONFLICT', 'DEADLINE_EXCEEDED'],
  },
} as const satisfies Record<string, Operation>;
