import type { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent } from '@fairlead/events';
import type { Logger } from '@fairlead/observability';
import { inTransaction } from '@fairlead/persistence';
import { needsSomebody, retryAt } from '../../domain/host-failure.js';
import { gitHostById, lockGitHosts, updateGitHost, type StoredGitHost } from '../../store/git-host-store.js';
import { NO_PROBLEM, aboutHost, bySelf, type GitRuntime } from './git-hosts.js';

const MAX_MESSAGE = 1_024;
/** Time enough to make another token, whoever has to ask for it. */
const EXPIRY_WARNING_MS = 14 * 86_400_000;

/** Keeps visible why a Git host cannot be worked with, and tells those who watch events of what somebody has to do about. */
export class HostProblems {
  constructor(
    private readonly runtime: GitRuntime,
    private readonly logger: Logger,
  ) {}

  /** Nothing is sent to the host for a while. Not counted against one that was configured anew since. */
  async record(asked: StoredGitHost, error: FairleadError): Promise<void> {
    const { database, source, onCommitted } = this.runtime;
    const now = this.runtime.now();
    const message = error.message.slice(0, MAX_MESSAGE);
    await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, asked.tenantId);
      const host = await gitHostById(manager, asked.id);
      if (host?.revision !== asked.revision) return;
      const { problemCode: before, failures } = host;
      const problem = { problemCode: error.code, problemMessage: message, failures: failures + 1 };
      await updateGitHost(manager, host.id, { ...problem, retryAt: retryAt(error, failures, now) });
      if (before === error.code) return;
      this.logger.warn('git_host.failing', { hostId: host.id, code: error.code, reason: message });
      if (!needsSomebody(error.code)) return;
      const data = { ...aboutHost(host, bySelf(this.runtime)), reason: error.code, message };
      await appendEvent(manager, createEvent(source, 'dev.fairlead.git-host.failing.v1', data, now));
    });
    onCommitted();
  }

  /** It answered. */
  async clear(asked: StoredGitHost): Promise<void> {
    if (asked.problemCode === null) return;
    const { database, source, onCommitted } = this.runtime;
    await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, asked.tenantId);
      const host = await gitHostById(manager, asked.id);
      if (host?.revision !== asked.revision || host.problemCode === null) return;
      await updateGitHost(manager, host.id, NO_PROBLEM);
      this.logger.info('git_host.recovered', { hostId: host.id, code: host.problemCode });
      if (!needsSomebody(host.problemCode)) return;
      const data = { ...aboutHost(host, bySelf(this.runtime)), reason: 'OK' };
      await appendEvent(manager, createEvent(source, 'dev.fairlead.git-host.recovered.v1', data, this.runtime.now()));
    });
    onCommitted();
  }

  /** Tells once of a token that ends soon. */
  async tellExpiry({ id, tenantId, tokenExpiresAt, expiryTold }: StoredGitHost): Promise<void> {
    const isSoon =
      tokenExpiresAt !== null && tokenExpiresAt.getTime() - this.runtime.now().getTime() < EXPIRY_WARNING_MS;
    if (!isSoon || expiryTold) return;
    const { database, source, onCommitted } = this.runtime;
    await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, tenantId);
      const host = await gitHostById(manager, id);
      if (!host || host.expiryTold || host.tokenExpiresAt === null) return;
      await updateGitHost(manager, id, { expiryTold: true });
      const expiresAt = host.tokenExpiresAt.toISOString();
      this.logger.warn('git_host.token_expiring', { hostId: id, expiresAt });
      const data = { ...aboutHost(host, bySelf(this.runtime)), reason: 'OK', expiresAt };
      await appendEvent(
        manager,
        createEvent(source, 'dev.fairlead.git-host.token-expiring.v1', data, this.runtime.now()),
      );
    });
    onCommitted();
  }
}
