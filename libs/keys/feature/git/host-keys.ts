import type { GitHost } from '@fairlead/contracts';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import { askedByName } from '../../domain/host-failure.js';
import { afterApproval, afterScan } from '../../domain/host-key-set.js';
import {
  gitHostById,
  hostKeysOf,
  lockGitHosts,
  replaceHostKeys,
  takeDueScan,
  updateGitHost,
  type StoredGitHost,
} from '../../store/git-host-store.js';
import { aboutHost, bySelf, byUser, existingHost, type GitRuntime } from './git-hosts.js';
import { viewHost } from './host-view.js';
import { scanSshHost } from './ssh-scan.js';

/** What is pinned goes into each desired state. */
const MAX_APPROVED = 16;

/** The SSH keys of Git hosts: looked at often, trusted when an administrator says so. */
export class HostKeys {
  constructor(
    private readonly runtime: GitRuntime,
    private readonly logger: Logger,
  ) {}

  /** Asks the host now. NOT_FOUND; UNAVAILABLE, DEADLINE_EXCEEDED, PROTOCOL_ERROR of its SSH server. */
  async scan(tenantId: string, name: string): Promise<GitHost> {
    const { database } = this.runtime;
    const host = await readFrom(database, (manager) => existingHost(manager, tenantId, name));
    return this.#observe(host, new AbortController().signal);
  }

  /** The pinned set from now on. NOT_FOUND for a fingerprint that was never shown or given. */
  async approve(
    tenantId: string,
    decision: {
      readonly name: string;
      readonly fingerprints: readonly string[];
      readonly keys: readonly string[];
      readonly actor: string;
    },
  ): Promise<GitHost> {
    const { database, source, onCommitted } = this.runtime;
    const { name, actor, keys: given } = decision;
    const fingerprints = [...new Set(decision.fingerprints)];
    if (fingerprints.length > MAX_APPROVED) {
      throw new FairleadError('INVALID_ARGUMENT', `at most ${MAX_APPROVED} keys of a host are approved`);
    }
    const view = await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, tenantId);
      const host = await existingHost(manager, tenantId, name);
      const known = await keysOf(manager, host);
      const { keys, withdrawn } = afterApproval(known, { fingerprints, given, by: actor }, this.runtime.now());
      await replaceHostKeys(manager, host.id, keys);
      const data = {
        ...aboutHost(host, byUser(actor)),
        approved: fingerprints,
        withdrawn: [...withdrawn],
        reason: 'OK',
      };
      await appendEvent(
        manager,
        createEvent(source, 'dev.fairlead.git-host.keys-approved.v1', data, this.runtime.now()),
      );
      return viewHost(manager, host);
    });
    onCommitted();
    return view;
  }

  /** A host that is due to be looked at, of any but these tenants. It is put off before, so that one process looks at it. Null: none is. */
  takeDue(intervalMs: number, except: readonly string[]): Promise<StoredGitHost | null> {
    // Between half and all of it: hosts that were added together are not asked together for ever.
    const putOffMs = Math.ceil(intervalMs * (0.5 + Math.random() / 2));
    return inTransaction(this.runtime.database, (manager) => takeDueScan(manager, putOffMs, except));
  }

  /** Asks a host that was taken. Throws nothing: what the host fails with is told, and it is asked again when it is due. */
  async observe(host: StoredGitHost, signal: AbortSignal): Promise<void> {
    try {
      await this.#observe(host, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { code, message: reason } = toFairleadError(error);
      const cause = code === 'INTERNAL' ? { err: error } : {};
      this.logger.warn('git_host.not_scanned', { hostId: host.id, code, reason, ...cause });
    }
  }

  async #observe(host: StoredGitHost, signal: AbortSignal): Promise<GitHost> {
    const { database, onCommitted } = this.runtime;
    const { name, sshHost, sshPort } = host;
    const shown = await askedByName({ name, url: `ssh://${sshHost}:${sshPort}` }, () => scanSshHost(host, signal));
    const view = await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, host.tenantId);
      return this.#record(manager, host, shown);
    });
    onCommitted();
    return view;
  }

  async #record(manager: EntityManager, asked: StoredGitHost, shown: readonly string[]): Promise<GitHost> {
    const host = await gitHostById(manager, asked.id);
    if (host?.sshHost !== asked.sshHost || host.sshPort !== asked.sshPort) {
      throw new FairleadError('CONFLICT', 'the Git host was changed while its keys were looked at; try again');
    }
    const now = this.runtime.now();
    const { keys, raised } = afterScan(await keysOf(manager, host), shown, now);
    await replaceHostKeys(manager, host.id, keys);
    await updateGitHost(manager, host.id, { scannedAt: now });
    for (const { type, fingerprint } of raised) {
      const about = { ...aboutHost(host, bySelf(this.runtime)), reason: 'UNTRUSTED_PEER', type, fingerprint };
      const event = createEvent(this.runtime.source, 'dev.fairlead.git-host.key-changed.v1', about, now);
      await appendEvent(manager, event);
      this.logger.warn('git_host.key_changed', { hostId: host.id, type, fingerprint });
    }
    return viewHost(manager, { ...host, scannedAt: now });
  }
}

async function keysOf(manager: EntityManager, { id }: StoredGitHost) {
  return (await hostKeysOf(manager, [id])).get(id) ?? [];
}
