import { Facts } from '@fairlead/contracts';
import type { z } from 'zod';

/** As it lies in the database: what an earlier release wrote lacks what it knew nothing of. */
export type StoredFacts = z.input<typeof Facts>;

/** The same with a word for everything, as the API shows it. */
export function knownFacts(stored: StoredFacts): Facts {
  return Facts.parse(stored);
}

/** Would a reader see any difference? What was never said before differs from everything. */
export function differs(stored: StoredFacts | null, said: Facts): boolean {
  // Parsing puts the fields in one order.
  return stored === null || JSON.stringify(knownFacts(stored)) !== JSON.stringify(knownFacts(said));
}

/** For the event of an enrolment: the versions, and the rest if it is new. */
export function saidAtEnrolment(
  stored: StoredFacts | null,
  said: StoredFacts,
): Pick<Facts, 'agentVersion' | 'kubernetesVersion'> & { readonly facts?: Facts } {
  const facts = knownFacts(said);
  const { agentVersion, kubernetesVersion } = facts;
  return { agentVersion, kubernetesVersion, ...(differs(stored, facts) ? { facts } : {}) };
}
