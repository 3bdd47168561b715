import { FairleadError } from '@fairlead/errors';
import type { AgentIdentity, IdentityStore } from '../agent-identity.js';

/** For what looks at neither keys nor certificates. */
export const IDENTITY: AgentIdentity = {
  clusterId: '5bd1f0f0-35c6-4a6c-9f58-6d7f6f1c2a11',
  generation: 1,
  trustDomain: 'fairlead.local',
  keyPem: 'key 1',
  chainPem: ['chain 1'],
  rootsPem: ['root 1'],
  trustVersion: 1,
};

/** What pods of one agent share, in memory: who saves what it did not read meets CONFLICT. */
export class SharedStore implements IdentityStore {
  /** The newest last. */
  saved: AgentIdentity[];
  /** It is away: nothing can be saved. */
  failing = false;

  constructor(...saved: AgentIdentity[]) {
    this.saved = saved;
  }

  load(): ReturnType<IdentityStore['load']> {
    return Promise.resolve({ identity: this.saved.at(-1) ?? null, pending: null, version: String(this.saved.length) });
  }

  async saveIdentity(next: AgentIdentity, version: string | undefined): Promise<void> {
    await Promise.resolve();
    if (this.failing) throw new FairleadError('UNAVAILABLE', 'the store is away');
    if (version !== String(this.saved.length)) throw new FairleadError('CONFLICT', 'somebody was earlier');
    this.saved.push(next);
  }

  savePending(): Promise<void> {
    return Promise.reject(new Error('nobody enrols here'));
  }
}
