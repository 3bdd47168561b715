import type { AuditWitnesses as Listed } from '@fairlead/contracts';
import { readFrom } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { findTree } from '../store/tree-store.js';
import { findCosigned, findWitnesses } from '../store/witness-store.js';
import type { AskedWitness } from './ask-witnesses.js';

/** Gives out what witnesses made of a tenant's log. */
export class AuditWitnesses {
  constructor(
    private readonly database: DataSource,
    private readonly witnesses: readonly AskedWitness[],
  ) {}

  /** Of those that are asked now. */
  async list(tenantId: string): Promise<Listed> {
    return readFrom(this.database, async (manager) => {
      const tree = (await findTree(manager, tenantId)) ?? { tenantId, incarnation: 1 };
      const known = await findWitnesses(manager, tree);
      const listed = this.witnesses.map(({ verifierKey, key }) => {
        const { state, why, size, cosignedAt, askedAt } = known.get(verifierKey) ?? NEVER_ASKED;
        const times = { cosignedAt: cosignedAt?.toISOString() ?? null, askedAt: askedAt?.toISOString() ?? null };
        return { name: key.name, verifierKey, state, why, size, ...times };
      });
      return { witnesses: listed, checkpoints: await findCosigned(manager, tree) };
    });
  }
}

const NEVER_ASKED = { state: 'new', why: '', size: 0, cosignedAt: null, askedAt: null } as const;
