import { expectRevision, type Caller, type Expecting, type GitHost, type PutGitHost } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { appendEvent, createEvent, type Actor } from '@fairlead/events';
import type { RightsReport } from '@fairlead/git-hosts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { DataSource, EntityManager } from 'typeorm';
import { settleGitHost, type GitHostSettings } from '../../domain/git-host-settings.js';
import { askedByName } from '../../domain/host-failure.js';
import { afterMove } from '../../domain/host-key-set.js';
import { deployKeysNeed } from '../../store/deploy-key-store.js';
import {
  deleteGitHostRow,
  findGitHost,
  gitHostsOf,
  hostKeysOf,
  lockGitHosts,
  replaceHostKeys,
  saveGitHost,
  type StoredGitHost,
} from '../../store/git-host-store.js';
import { wakeRepositories } from '../../store/repository-lease-store.js';
import type { HostAccess } from './host-access.js';
import { revisionOfHost, viewHost, viewHosts } from './host-view.js';

export interface GitRuntime {
  readonly database: DataSource;
  /** This process, as the source of events. */
  readonly source: Caller;
  /** Events and the projection may go out, and what is due may be done. */
  readonly onCommitted: () => void;
  readonly now: () => Date;
}

/** Of a tenant: they all go into one answer. */
const MAX_HOSTS = 64;

interface AskedBy extends Expecting {
  readonly actor: string;
}

interface Put {
  readonly input: PutGitHost;
  readonly before: StoredGitHost | null;
  readonly settings: GitHostSettings;
  readonly report: RightsReport;
}

/** Git hosts as administrators configure them. Tokens go in and never come out. */
export class GitHosts {
  constructor(
    private readonly runtime: GitRuntime,
    private readonly access: HostAccess,
  ) {}

  /**
   * Makes or changes one, once its token was tried. INVALID_ARGUMENT; GIT_TOKEN_REFUSED, GIT_RIGHTS_MISSING and what else a Git host
   * fails with; REVISION_CONFLICT; CONFLICT when somebody else changed it meanwhile.
   */
  async put(tenantId: string, { actor, ifRevision, ...input }: PutGitHost & AskedBy): Promise<GitHost> {
    const { database, onCommitted } = this.runtime;
    const before = await readFrom(database, (manager) => findGitHost(manager, tenantId, input.name));
    expectRevision(`the Git host ${input.name}`, before && revisionOfHost(before), ifRevision);
    const { settings, keepsToken } = settleGitHost(input, before);
    const report = await this.#checkRights(input.name, settings, keepsToken ? before : null, input.token ?? null);
    const view = await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, tenantId);
      const host = await this.#store(manager, tenantId, actor, { input, before, settings, report });
      return viewHost(manager, host);
    });
    onCommitted();
    return view;
  }

  list(tenantId: string): Promise<GitHost[]> {
    return readFrom(this.runtime.database, async (manager) => viewHosts(manager, await gitHostsOf(manager, tenantId)));
  }

  /** NOT_FOUND; REVISION_CONFLICT; CONFLICT while a deploy key is on it, or is to be. */
  async delete(tenantId: string, { name, actor, ifRevision }: AskedBy & { name: string }): Promise<void> {
    const { database, source, onCommitted } = this.runtime;
    await inTransaction(database, async (manager) => {
      await lockGitHosts(manager, tenantId);
      const host = await existingHost(manager, tenantId, name);
      expectRevision(`the Git host ${name}`, revisionOfHost(host), ifRevision);
      if (await deployKeysNeed(manager, host.id)) {
        throw new FairleadError('CONFLICT', `deploy keys of clusters are on ${name}, or are to be: drop them first`);
      }
      await deleteGitHostRow(manager, host.id);
      const data = { ...aboutHost(host, byUser(actor)), reason: 'OK' };
      await appendEvent(manager, createEvent(source, 'dev.fairlead.git-host.deleted.v1', data, this.runtime.now()));
    });
    onCommitted();
  }

  /** What can be found out without a repository. The token may be one that nobody stored yet. */
  async #checkRights(
    name: string,
    settings: GitHostSettings,
    held: StoredGitHost | null,
    token: string | null,
  ): Promise<RightsReport> {
    await using host = held ? await this.access.open(held) : this.access.openWith(settings, token);
    const { url, createRepositories } = settings;
    const report = await askedByName({ name, url }, () => host.checkRights({ createRepositories }));
    assertRights(report);
    return report;
  }

  async #store(manager: EntityManager, tenantId: string, actor: string, put: Put): Promise<StoredGitHost> {
    const { input, before, settings } = put;
    const now = this.runtime.now();
    const current = await findGitHost(manager, tenantId, input.name);
    if (current?.revision !== before?.revision || current?.id !== before?.id) {
      throw new FairleadError('CONFLICT', 'somebody else changed this Git host meanwhile; look at it and try again');
    }
    if (!current && (await gitHostsOf(manager, tenantId)).length >= MAX_HOSTS) {
      throw new FairleadError('CONFLICT', `there are ${MAX_HOSTS} Git hosts, which is as many as there may be`);
    }
    // The row as it is under the lock: its token may have been sealed anew meanwhile.
    const host = await this.#settled(tenantId, { ...put, before: current }, now);
    await saveGitHost(manager, host);
    if (current && (current.sshHost !== host.sshHost || current.sshPort !== host.sshPort)) {
      const keys = (await hostKeysOf(manager, [host.id])).get(host.id) ?? [];
      await replaceHostKeys(manager, host.id, afterMove(keys, actor));
    }
    await wakeRepositories(manager, host.id);
    const { kind, url, sshHost, sshPort, createRepositories } = settings;
    const what = { kind, url, sshHost, sshPort, createRepositories };
    const how = { created: !current, tokenChanged: input.token !== undefined };
    const data = { ...aboutHost(host, byUser(actor)), ...what, ...how, reason: 'OK' };
    await appendEvent(manager, createEvent(this.runtime.source, 'dev.fairlead.git-host.configured.v1', data, now));
    return host;
  }

  /** The row. Whatever was wrong with the host is tried anew. */
  async #settled(tenantId: string, { input, before, settings, report }: Put, now: Date): Promise<StoredGitHost> {
    const id = before?.id ?? crypto.randomUUID();
    const moved = before?.sshHost !== settings.sshHost || before.sshPort !== settings.sshPort;
    const sealedToken =
      input.token === undefined ? (before?.sealedToken ?? null) : await this.access.seal(id, input.token);
    return {
      id,
      tenantId,
      name: input.name,
      ...settings,
      sealedToken,
      tokenExpiresAt: report.expiresAt,
      expiryTold: input.token === undefined && (before?.expiryTold ?? false),
      checkedAt: settings.kind === 'manual' ? null : now,
      findings: report.findings.map(({ verdict, right, why }) => ({ verdict, right, why })),
      ...NO_PROBLEM,
      scannedAt: moved ? null : before.scannedAt,
      scanDueAt: moved ? now : before.scanDueAt,
      revision: (before?.revision ?? 0) + 1,
    };
  }
}

export const NO_PROBLEM = { problemCode: null, problemMessage: null, retryAt: null, failures: 0 } as const;

/** GIT_RIGHTS_MISSING names what is. */
export function assertRights({ findings }: RightsReport): void {
  const missing = findings.filter(({ verdict }) => verdict === 'missing').map(({ right }) => right);
  if (missing.length === 0) return;
  const message = `the token lacks ${missing.join(', ')}`;
  throw new FairleadError('GIT_RIGHTS_MISSING', message, { details: { missing } });
}

/** NOT_FOUND. */
export async function existingHost(manager: EntityManager, tenantId: string, name: string): Promise<StoredGitHost> {
  const host = await findGitHost(manager, tenantId, name);
  if (host) return host;
  throw new FairleadError('NOT_FOUND', `there is no Git host ${name}`);
}

export const byUser = (name: string): Actor => ({ kind: 'user', id: name });
export const bySelf = ({ source }: GitRuntime): Actor => ({ kind: 'service', id: source.credential });

/** What every event about a host says. */
export function aboutHost({ id, name, tenantId }: StoredGitHost, actor: Actor) {
  return { tenantId, subject: `git-host/${id}`, actor, hostId: id, name };
}
