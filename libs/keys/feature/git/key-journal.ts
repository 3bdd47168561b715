import { appendEvent, createEvent } from '@fairlead/events';
import { inTransaction } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import {
  lockDeployKey,
  noteSeen,
  recordRepositoryProblem,
  updateDeployKey,
  type StoredDeployKey,
} from '../../store/deploy-key-store.js';
import { bySelf, type GitRuntime } from './git-hosts.js';

const MAX_MESSAGE = 1_024;

type Change = Parameters<typeof updateDeployKey>[2];

/**
 * Records what became of keys on a host, each with its event. Somebody may have asked for or dropped a key while the host was asked: then only
 * what is true of the host is recorded, and the next run goes on from there.
 */
export class KeyJournal {
  constructor(private readonly runtime: GitRuntime) {}

  /** We added it. */
  async added(asked: StoredDeployKey, remoteId: string, restores: boolean): Promise<void> {
    const { source } = this.runtime;
    await this.#change(asked, { remoteId, seenAt: this.runtime.now() }, async (manager, key, stays) => {
      const restored = key.restored + (restores ? 1 : 0);
      await updateDeployKey(manager, key.id, { restored });
      const data = { ...this.#about(key, 'OK'), keyId: remoteId };
      const event = restores
        ? createEvent(source, 'dev.fairlead.deploy-key.restored.v1', { ...data, restored }, this.runtime.now())
        : createEvent(source, 'dev.fairlead.deploy-key.added.v1', data, this.runtime.now());
      await appendEvent(manager, event);
      return stays ? { state: 'present' } : {};
    });
  }

  /** It is there. `remoteId`: null if somebody else added it. */
  async present(asked: StoredDeployKey, remoteId: string | null): Promise<void> {
    await this.#change(asked, { remoteId, seenAt: this.runtime.now() }, (_manager, _key, stays) =>
      Promise.resolve(stays ? { state: 'present' } : {}),
    );
  }

  /** They are there as they were. */
  async seen(keys: readonly StoredDeployKey[]): Promise<void> {
    if (keys.length === 0) return;
    const ids = keys.map(({ id }) => id);
    await inTransaction(this.runtime.database, (manager) => noteSeen(manager, ids, this.runtime.now()));
  }

  /** It is not there any more; `instructions`: somebody has to see to that. */
  async removed(asked: StoredDeployKey, rest: { instructions?: string; wasOurs: boolean }): Promise<void> {
    const { source } = this.runtime;
    await this.#change(asked, { remoteId: null }, async (manager, key, stays) => {
      if (rest.wasOurs) {
        const data = this.#about(key, 'OK');
        await appendEvent(manager, createEvent(source, 'dev.fairlead.deploy-key.removed.v1', data, this.runtime.now()));
      }
      return stays ? { state: 'removed', instructions: rest.instructions ?? null } : {};
    });
  }

  async byHand(asked: StoredDeployKey, instructions: string): Promise<void> {
    await this.#change(asked, {}, (_manager, _key, stays) =>
      Promise.resolve(stays ? { state: 'by-hand', instructions } : {}),
    );
  }

  /** The host does not take this key. */
  async refused(asked: StoredDeployKey, problem: { code: string; message: string }): Promise<void> {
    const { source } = this.runtime;
    await this.#change(asked, {}, async (manager, key, stays) => {
      if (!stays) return {};
      if (key.problemCode !== problem.code) {
        const data = this.#about(key, problem.code);
        await appendEvent(manager, createEvent(source, 'dev.fairlead.deploy-key.refused.v1', data, this.runtime.now()));
      }
      const shown = { problemCode: problem.code, problemMessage: problem.message.slice(0, MAX_MESSAGE) };
      return { state: 'refused', stateSince: this.runtime.now(), ...shown };
    });
  }

  /** The same for all keys of a repository: what is desired of them stays. */
  async repositoryFails(
    repository: { readonly hostId: string; readonly path: string },
    problem: { readonly code: string; readonly message: string },
  ): Promise<void> {
    const shown = { ...problem, message: problem.message.slice(0, MAX_MESSAGE) };
    await inTransaction(this.runtime.database, (manager) => recordRepositoryProblem(manager, repository, shown));
  }

  async #change(
    asked: StoredDeployKey,
    always: Change,
    decide: (manager: EntityManager, key: StoredDeployKey, stays: boolean) => Promise<Change>,
  ): Promise<void> {
    await inTransaction(this.runtime.database, async (manager) => {
      const key = await lockDeployKey(manager, asked.id);
      if (!key) return;
      const decided = await decide(manager, key, key.state === asked.state);
      const turned =
        decided.state !== undefined && decided.state !== key.state ? { stateSince: this.runtime.now() } : {};
      const settled = decided.state === undefined ? {} : SETTLED;
      await updateDeployKey(manager, key.id, { ...always, ...turned, ...settled, ...decided });
    });
    this.runtime.onCommitted();
  }

  #about(key: StoredDeployKey, reason: string) {
    const { tenantId, hostId, clusterId, repositoryId, path, number, fingerprint } = key;
    const about = { tenantId, subject: `cluster/${clusterId}`, actor: bySelf(this.runtime), reason };
    return { ...about, hostId, clusterId, repositoryId, path, number, fingerprint };
  }
}

const SETTLED = { problemCode: null, problemMessage: null, instructions: null } as const;
