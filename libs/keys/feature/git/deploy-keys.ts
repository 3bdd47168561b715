import type { DeployKey } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { parseRepositoryPath, parseSshPublicKey } from '@fairlead/git-hosts';
import { inTransaction, readFrom } from '@fairlead/persistence';
import type { EntityManager } from 'typeorm';
import {
  findDeployKey,
  insertDeployKey,
  listDeployKeyRows,
  lockDeployKey,
  updateDeployKey,
  type DeployKeyFilter,
  type DeployKeyName,
  type StoredDeployKey,
} from '../../store/deploy-key-store.js';
import { gitHostById } from '../../store/git-host-store.js';
import { wakeRepository } from '../../store/repository-lease-store.js';
import type { GitRuntime } from './git-hosts.js';

interface DeployKeySpec extends DeployKeyName {
  readonly hostId: string;
  /** `org/catalog`. */
  readonly path: string;
  readonly clusterName: string;
  readonly publicKey: string;
}

/** Of one answer, which is to fit into a message. */
const PAGE = 200;

/** Which public key of which cluster is to be in which repository. What that takes is done in the background. */
export class DeployKeys {
  constructor(private readonly runtime: GitRuntime) {}

  /** The same spec twice changes nothing. Another key of the same number replaces the one before. NOT_FOUND for another host. */
  async want(tenantId: string, spec: DeployKeySpec): Promise<DeployKey> {
    const fingerprint = fingerprintOf(spec.publicKey);
    parseRepositoryPath(spec.path);
    const { database, onCommitted } = this.runtime;
    const known = await readFrom(database, (manager) => findDeployKey(manager, tenantId, spec));
    if (known && isAsSpecified(known, spec, fingerprint)) return toDeployKey(known);
    const key = await inTransaction(database, async (manager) => {
      await assertHost(manager, tenantId, spec.hostId);
      // First, since it makes others wait who want the same.
      await wakeRepository(manager, spec.hostId, spec.path);
      return this.#want(manager, tenantId, spec, fingerprint);
    });
    onCommitted();
    return toDeployKey(key);
  }

  /** NOT_FOUND for one that was never wanted. */
  async drop(tenantId: string, name: DeployKeyName): Promise<DeployKey> {
    const { database, onCommitted } = this.runtime;
    const dropped = await inTransaction(database, async (manager) => {
      const found = await findDeployKey(manager, tenantId, name);
      const key = found && (await lockDeployKey(manager, found.id));
      if (!key)
        throw new FairleadError('NOT_FOUND', `no deploy key with number ${name.number} was wanted for this cluster`);
      if (key.state === 'removing' || key.state === 'removed') return key;
      const change = { ...SETTLED, state: 'removing', stateSince: this.runtime.now() } as const;
      await updateDeployKey(manager, key.id, change);
      await wakeRepository(manager, key.hostId, key.path);
      return { ...key, ...change };
    });
    onCommitted();
    return toDeployKey(dropped);
  }

  /** INVALID_ARGUMENT for an `after` that is not a `next` of ours. */
  async list(
    tenantId: string,
    { after, ...filter }: DeployKeyFilter & { readonly after?: string | undefined },
  ): Promise<{ keys: DeployKey[]; next?: string }> {
    const place = after === undefined ? {} : { after: readPlace(after) };
    const rows = await readFrom(this.runtime.database, (manager) =>
      listDeployKeyRows(manager, tenantId, { ...filter, ...place }, PAGE + 1),
    );
    const keys = rows.slice(0, PAGE);
    const last = keys.at(-1);
    const more = rows.length > PAGE && last ? { next: placeOf(last) } : {};
    return { keys: keys.map(toDeployKey), ...more };
  }

  async #want(
    manager: EntityManager,
    tenantId: string,
    spec: DeployKeySpec,
    fingerprint: string,
  ): Promise<StoredDeployKey> {
    const found = await findDeployKey(manager, tenantId, spec);
    const before = found && (await lockDeployKey(manager, found.id));
    if (before && isSame(before, spec, fingerprint)) {
      if (isAsSpecified(before, spec, fingerprint)) return before;
      const change = { ...SETTLED, state: 'wanted', stateSince: this.runtime.now() } as const;
      await updateDeployKey(manager, before.id, change);
      return { ...before, ...change };
    }
    if (before) await this.#supersede(manager, before);
    const { clusterId, repositoryId, number, clusterName, hostId, path, publicKey } = spec;
    const key: StoredDeployKey = {
      id: crypto.randomUUID(),
      tenantId,
      clusterId,
      repositoryId,
      number,
      clusterName,
      hostId,
      path,
      publicKey,
      fingerprint,
      ...SETTLED,
      state: 'wanted',
      stateSince: this.runtime.now(),
      superseded: false,
      remoteId: null,
      seenAt: null,
      restored: 0,
    };
    await insertDeployKey(manager, key);
    return key;
  }

  async #supersede(manager: EntityManager, before: StoredDeployKey): Promise<void> {
    const gone = before.state === 'removed' ? {} : ({ state: 'removing', stateSince: this.runtime.now() } as const);
    await updateDeployKey(manager, before.id, { superseded: true, ...gone });
    await wakeRepository(manager, before.hostId, before.path);
  }
}

const SETTLED = { problemCode: null, problemMessage: null, instructions: null } as const;

function isSame(key: StoredDeployKey, spec: DeployKeySpec, fingerprint: string): boolean {
  return key.fingerprint === fingerprint && key.hostId === spec.hostId && key.path === spec.path;
}

function isAsSpecified(key: StoredDeployKey, spec: DeployKeySpec, fingerprint: string): boolean {
  return isSame(key, spec, fingerprint) && key.state !== 'removing' && key.state !== 'removed';
}

async function assertHost(manager: EntityManager, tenantId: string, hostId: string): Promise<void> {
  const host = await gitHostById(manager, hostId);
  if (host?.tenantId !== tenantId) throw new FairleadError('NOT_FOUND', 'there is no such Git host');
}

function fingerprintOf(publicKey: string): string {
  const parsed = parseSshPublicKey(publicKey);
  if (parsed?.type === 'ssh-ed25519') return parsed.fingerprint;
  throw new FairleadError('INVALID_ARGUMENT', 'this is not an ssh-ed25519 public key');
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const PLACE = new RegExp(String.raw`^(${UUID})/(${UUID})/(\d{1,7})$`);

function placeOf({ clusterId, repositoryId, number }: DeployKeyName): string {
  return `${clusterId}/${repositoryId}/${number}`;
}

function readPlace(text: string): DeployKeyName {
  const [, clusterId, repositoryId, number] = PLACE.exec(text) ?? [];
  if (clusterId && repositoryId && number) return { clusterId, repositoryId, number: Number(number) };
  throw new FairleadError('INVALID_ARGUMENT', 'after: expected the next of an earlier answer');
}

function toDeployKey(key: StoredDeployKey): DeployKey {
  const { clusterId, repositoryId, number, fingerprint, state, instructions, problemCode, seenAt, restored } = key;
  return {
    clusterId,
    repositoryId,
    number,
    fingerprint,
    state,
    instructions,
    problem: problemCode === null ? null : { code: problemCode, message: key.problemMessage ?? '' },
    seenAt: seenAt?.toISOString() ?? null,
    restored,
  };
}
