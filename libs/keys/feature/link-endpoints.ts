import { isDeepStrictEqual } from 'node:util';
import {
  NO_TENANT,
  LinkEndpoint,
  expectRevision,
  revisionOf,
  type Caller,
  type EndpointSet,
  type Expecting,
} from '@fairlead/contracts';
import { appendEvent, createEvent, operatorOf } from '@fairlead/events';
import { inTransaction } from '@fairlead/persistence';
import type { LinkEndpoint as NamedEndpoint } from '@fairlead/pki';
import type { DataSource, EntityManager } from 'typeorm';
import { withEndpoint, withoutEndpoint } from '../domain/endpoint-set.js';
import { RECOVERY_WINDOW_SECONDS } from '../domain/recovery-window.js';
import { allEndpoints, deleteEndpoint, saveEndpoint } from '../store/endpoint-store.js';
import { waitedClusters } from '../store/waiting-store.js';
import type { CurrentCa } from './current-ca.js';

export interface LinkEndpointsOptions {
  readonly database: DataSource;
  readonly ca: CurrentCa;
  /** As the one that certificates are renewed by; default 30 days. */
  readonly recoveryWindowSeconds?: number;
  /** This process, as the source of events. */
  readonly source: Caller;
  /** Events and the projection may go out. */
  readonly onCommitted: () => void;
}

interface AskedBy extends Expecting {
  readonly by: string;
}

/** Versions of the trust bundle that changes of endpoints leave to what may have to follow at once: a rotation takes three, a revocation of a gateway one. */
const KEPT = 20;

/** Where agents reach gateways. Each change is the next version of the trust bundle, so that nobody who carries it can make another (ADR 48). */
export class LinkEndpoints {
  constructor(private readonly options: LinkEndpointsOptions) {}

  /** All of them, and how many clusters know. */
  list(): Promise<EndpointSet> {
    const { database, ca } = this.options;
    return inTransaction(database, async (manager) => this.#shown(manager, (await ca.shared(manager)).bundle.version));
  }

  /** Adds one, or changes the one at its address; again: no change. INVALID_ARGUMENT, CONFLICT as `withEndpoint`; CONFLICT above what agents take at this time. */
  put(caller: Caller, asked: AskedBy, endpoint: LinkEndpoint): Promise<EndpointSet> {
    return this.#change(caller, asked, endpoint.address, async (manager, set) => {
      withEndpoint(set, endpoint);
      await saveEndpoint(manager, endpoint);
    });
  }

  /** NOT_FOUND, CONFLICT as `withoutEndpoint`; CONFLICT above what agents take at this time. */
  remove(caller: Caller, asked: AskedBy, address: string): Promise<EndpointSet> {
    return this.#change(caller, asked, address, async (manager, set) => {
      withoutEndpoint(set, address);
      await deleteEndpoint(manager, address);
    });
  }

  async #change(
    caller: Caller,
    { by, ifRevision }: AskedBy,
    address: string,
    make: (manager: EntityManager, set: readonly NamedEndpoint[]) => Promise<void>,
  ): Promise<EndpointSet> {
    const { database, ca, onCommitted } = this.options;
    await ca.upkeep();
    const shown = await inTransaction(database, async (manager) => {
      const before = await ca.locked(manager);
      const set = await allEndpoints(manager);
      expectRevision('the list of endpoints', revisionOf(set), ifRevision);
      await make(manager, set);
      const next = await allEndpoints(manager);
      if (isDeepStrictEqual(next, set)) return this.#shown(manager, before.bundle.version);
      const { version } = (await ca.publish(manager, 1, KEPT)).bundle;
      await this.#tell(manager, caller, by, { address, endpoints: next, version });
      return this.#shown(manager, version);
    });
    onCommitted();
    return shown;
  }

  #tell(
    manager: EntityManager,
    caller: Caller,
    by: string,
    changed: { readonly address: string; readonly endpoints: readonly NamedEndpoint[]; readonly version: number },
  ): Promise<void> {
    const data = {
      tenantId: NO_TENANT,
      subject: `endpoint/${changed.address}`,
      actor: operatorOf(caller, by),
      reason: 'OK',
      endpoints: [...changed.endpoints],
      trustVersion: changed.version,
    };
    return appendEvent(
      manager,
      createEvent(this.options.source, 'dev.fairlead.endpoints.changed.v1', data, this.options.ca.now()),
    );
  }

  async #shown(manager: EntityManager, trustVersion: number): Promise<EndpointSet> {
    const { ca, recoveryWindowSeconds = RECOVERY_WINDOW_SECONDS } = this.options;
    const endedBefore = new Date(ca.now().getTime() - recoveryWindowSeconds * 1_000);
    const held = await waitedClusters(manager, 'prepared', { heldVersion: trustVersion, endedBefore });
    const set = await allEndpoints(manager);
    const endpoints = set.map((each) => LinkEndpoint.parse(each));
    const { clusters, clustersDone: clustersTold } = held;
    return { trustVersion, endpoints, clusters, clustersTold, revision: revisionOf(set) };
  }
}
