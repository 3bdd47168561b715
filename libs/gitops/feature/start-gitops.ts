import { BUCKETS, ClusterEntry, GitHostEntry } from '@fairlead/contracts';
import { createRpcClient, watchBucket } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';
import type { HealthLimits } from '../domain/cluster-health.js';
import { Assignments } from './assignments.js';
import { BundleImports } from './bundle-imports.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';
import { Driver } from './driver.js';
import type { FetchOptions } from './fetch-bundle.js';
import type { GitopsParts } from './gitops.module.js';
import { keysOver } from './keys-port.js';
import { Repositories } from './repositories.js';
import type { Runtime } from './runtime.js';

export interface GitopsOptions {
  readonly fetch: FetchOptions;
  readonly health: HealthLimits;
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
  const driver: Driver = new Driver({ runtime, keys, clusters, gitHosts });
  const bundles = new Bundles(driven);
  return {
    parts: {
      repositories: new Repositories(driven, keys),
      bundles,
      uploads: new BundleUploads(driven, bundles),
      imports: new BundleImports(bundles, options.fetch),
      assignments: new Assignments(driven),
      status: new ClusterStatus(driven, options.health),
      reports: new ClusterReports(driven),
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
