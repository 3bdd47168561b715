import type { NatsConnection } from '@nats-io/transport-node';
import { AccessRequests } from './access-requests.js';
import { ExplainAccess, type GroupsOf } from './explain-access.js';
import { GrantsController } from './grants.controller.js';
import { Grants } from './grants.js';
import { KnownClusters } from './known-clusters.js';
import { Lockdowns } from './lockdowns.js';
import type { Runtime } from './runtime.js';
import { tendGrants } from './tend-grants.js';
import type { QuotasOf } from './tenant-quotas.js';

/** Grants, requests for them and lockdowns, with the loop that ends them in time. Dispose of it to stop. */
export function grantsArea(runtime: Runtime, nats: NatsConnection, groupsOf: GroupsOf, quotasOf: QuotasOf) {
  const owned = new AsyncDisposableStack();
  const clusters = owned.use(new KnownClusters(nats, runtime.logger));
  const lockdowns = new Lockdowns(runtime, clusters);
  owned.use(tendGrants(runtime, lockdowns));
  const explaining = new ExplainAccess(runtime, clusters, groupsOf);
  return {
    clusters,
    controllers: [GrantsController],
    parts: [new Grants(runtime, clusters, quotasOf), new AccessRequests(runtime, quotasOf), lockdowns, explaining],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
