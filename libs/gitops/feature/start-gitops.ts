import { BUCKETS, ClusterEntry, GitHostEntry } from '@fairlead/contracts';
import { createRpcClient, watchBucket } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';
import type { BreakerLimits } from '../domain/breaker.js';
import type { HealthLimits } from '../domain/cluster-health.js';
import { Assignments } from './assignments.js';
import { BundleImports } from './bundle-imports.js';
import { BundleReader } from './bundle-reader.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';
import { RolloutDriver } from './drive-rollouts.js';
import { Driver } from './driver.js';
import { FleetBreaker } from './fleet-breaker.js';
import type { FetchOptions } from './fetch-bundle.js';
import type { GitopsParts } from './gitops.module.js';
import { keysOver } from './keys-port.js';
import { Repositories } from './repositories.js';
import { Rollouts } from './rollouts.js';
import type { Runtime } from './runtime.js';
import { KeySchedule } from './schedule-keys.js';

export interface GitopsOptions {
  readonly fetch: FetchOptions;
  readonly health: HealthLimits;
  readonly breaker: BreakerLimits;
}

export interface StartedGitops extends AsyncDisposable {
  readonly parts: GitopsParts;
  /** Both buckets that it reads are there. */
  readonly loaded: boolean;
}

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
  const breaker = new FleetBreaker(driven, options.breaker, silenceMs);
  const rollouts = new Rollouts(driven, silenceMs);
  const look = new FleetBreaker(runtime, options.breaker, silenceMs);
  const rolling = new RolloutDriver(runtime, silenceMs);
  const schedule = new KeySchedule(runtime, options.health);
  const steps = [() => look.look(), () => rolling.turn(), () => schedule.look()];
  const driver: Driver = new Driver({ runtime, keys, clusters, gitHosts, steps });
  const bundles = new Bundles(driven, new BundleReader());
  return {
    parts: {
      repositories: new Repositories(driven, keys),
      bundles,
      uploads: new BundleUploads(driven, bundles),
      imports: new BundleImports(bundles, options.fetch),
      assignments: new Assignments(driven, rollouts, (tenantId, id) => gitHosts.get(`${tenantId}.${id}`)),
      status: new ClusterStatus(driven, options.health),
      reports: new ClusterReports(driven),
      rollouts,
      breaker,
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
