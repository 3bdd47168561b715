import { BUCKETS, ClusterEntry, GitHostEntry, DesiredEntry } from '@fairlead/contracts';
import type { ProjectedBucket } from '@fairlead/events';
import { createRpcClient, watchBucket } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';
import { Module, type DynamicModule } from '@nestjs/common';
import type { BreakerLimits } from '../domain/breaker.js';
import type { HealthLimits } from '../domain/cluster-health.js';
import { signedStates } from '../store/cluster-store.js';
import { Assignments } from './assignments.js';
import { BundleImports } from './bundle-imports.js';
import { BundleReader } from './bundle-reader.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { CatalogController } from './catalog.controller.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';
import { ClustersController } from './clusters.controller.js';
import { ABSENCE_MS } from './converge.js';
import { RolloutDriver } from './drive-rollouts.js';
import { Driver } from './driver.js';
import type { FetchOptions } from './fetch-bundle.js';
import { FleetBreaker } from './fleet-breaker.js';
import { keysOver } from './keys-port.js';
import { Repositories } from './repositories.js';
import { RolloutsController } from './rollouts.controller.js';
import { Rollouts } from './rollouts.js';
import type { Runtime } from './runtime.js';
import { KeySchedule } from './schedule-keys.js';

export interface GitopsOptions {
  readonly fetch: FetchOptions;
  readonly health: HealthLimits;
  readonly breaker: BreakerLimits;
}

export interface StartedGitops extends AsyncDisposable {
  /** What answers its contract. */
  readonly module: DynamicModule;
  /** Both buckets that it reads are there. */
  readonly loaded: boolean;
}

@Module({})
class GitopsModule {}

/** The parts of the service, and the driver that runs beside them. */
export function startGitops(runtime: Runtime, nats: NatsConnection, options: GitopsOptions): StartedGitops {
  const { logger } = runtime;
  const keys = keysOver(createRpcClient(nats, runtime.source));
  const clusters = watchBucket(nats, BUCKETS.clusters, ClusterEntry, {
    logger,
    onChange: () => driver.clustersChanged(),
  });
  const gitHosts = watchBucket(nats, BUCKETS.gitHosts, GitHostEntry, {
    logger,
    onChange: () => driver.hostsChanged(),
  });
  const driven: Runtime = {
    ...runtime,
    onCommitted: () => {
      runtime.onCommitted();
      driver.poke();
    },
  };
  const { silenceMs } = options.health;
  const rollouts = new Rollouts(driven, silenceMs);
  const breaker = new FleetBreaker(runtime, options.breaker, silenceMs);
  const rolling = new RolloutDriver(runtime, silenceMs);
  const schedule = new KeySchedule(runtime, options.health);
  const steps = [() => breaker.reconcileOnce(), () => rolling.reconcileOnce(), () => schedule.reconcileOnce()];
  const driver: Driver = new Driver({ runtime, keys, clusters, gitHosts, steps });
  const bundles = new Bundles(driven, new BundleReader());
  const parts = [
    new Repositories(driven, keys),
    bundles,
    new BundleUploads(driven, bundles),
    new BundleImports(bundles, options.fetch),
    new Assignments(driven, rollouts, (tenantId, id) => gitHosts.get(`${tenantId}.${id}`)),
    new ClusterStatus(driven, options.health),
    new ClusterReports(driven),
    rollouts,
    new FleetBreaker(driven, options.breaker, silenceMs),
  ];
  return {
    module: {
      module: GitopsModule,
      controllers: [CatalogController, ClustersController, RolloutsController],
      providers: parts.map((part) => ({ provide: part.constructor, useValue: part })),
    },
    get loaded() {
      return clusters.isLoaded && gitHosts.isLoaded;
    },
    [Symbol.asyncDispose]: async () => {
      await driver[Symbol.asyncDispose]();
      await Promise.all([clusters.close(), gitHosts.close()]);
    },
  };
}

/** What gateways hand to agents. */
export const GITOPS_BUCKETS: readonly ProjectedBucket[] = [
  {
    bucket: BUCKETS.desired,
    schema: DesiredEntry,
    rows: async (manager) => {
      const states = await signedStates(manager, new Date(Date.now() - ABSENCE_MS));
      return new Map(
        states.map(({ tenantId, id, revision, signed }) => [
          `${tenantId}.${id}`,
          DesiredEntry.parse({ revision, ...signed }),
        ]),
      );
    },
  },
];
