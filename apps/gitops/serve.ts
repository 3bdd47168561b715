import { readFileSync } from 'node:fs';
import type { Projection } from '@fairlead/events';
import {
  GITOPS_BUCKETS,
  GITOPS_ENTITIES,
  GITOPS_MIGRATIONS,
  countHealth,
  meterConvergence,
  startGitops,
  type GitopsOptions,
  type Runtime,
  type StartedGitops,
} from '@fairlead/gitops';
import { Counter } from '@fairlead/observability';
import type { ServiceDefinition, ServiceHost } from '@fairlead/service';
import { readConfig, type Config } from './config.js';

export const gitops: ServiceDefinition<Config> = {
  role: 'gitops',
  entities: GITOPS_ENTITIES,
  migrations: GITOPS_MIGRATIONS,
  readConfig,
  prepare(config) {
    const options = optionsOf(config);
    let projection: Projection | undefined;
    let started: StartedGitops | undefined;
    return {
      readiness: () => [
        { name: 'projection', ok: projection?.synced === true },
        { name: 'buckets', ok: started?.loaded === true },
      ],
      start(host) {
        projection = host.project(GITOPS_BUCKETS);
        const runtime = runtimeOf(host, projection);
        started = host.use(startGitops(runtime, host.nats, options));
        host.use(countHealth(runtime, options.health, host.registry));
        return started.module;
      },
    };
  },
};

function runtimeOf({ database, source, logger, registry, relay }: ServiceHost, projection: Projection): Runtime {
  const failures = new Counter({
    name: 'fairlead_gitops_failures_total',
    help: 'Turns of a rollout, of a breaker, of a cluster or of its signature that failed and are tried again',
    labelNames: ['part'],
    registers: [registry],
  });
  return {
    database,
    source,
    logger,
    // Most of what it commits is in no bucket.
    onCommitted: () => relay.poke(),
    onDesired: () => projection.poke(),
    onFailed: (part) => failures.inc({ part }),
    onConverged: meterConvergence(registry),
    now: () => new Date(),
  };
}

function optionsOf(config: Config): GitopsOptions {
  const caFile = config.FAIRLEAD_BUNDLE_CA_FILE;
  return {
    fetch: {
      privateAddresses: config.FAIRLEAD_BUNDLE_PRIVATE_ADDRESSES,
      ca: caFile === undefined ? undefined : readFileSync(caFile, 'utf8'),
    },
    health: {
      silenceMs: config.FAIRLEAD_REPORT_SILENCE_SECONDS * 1_000,
      graceMs: config.FAIRLEAD_PROGRESS_SECONDS * 1_000,
    },
    breaker: {
      minClusters: config.FAIRLEAD_BREAKER_CLUSTERS,
      share: config.FAIRLEAD_BREAKER_SHARE,
      windowMs: config.FAIRLEAD_BREAKER_WINDOW_SECONDS * 1_000,
      holdRepairsMs: config.FAIRLEAD_BREAKER_HOLD_SECONDS * 1_000,
    },
  };
}
