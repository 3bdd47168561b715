import { systemClock, type Clock } from '@fairlead/clock';
import { gaugeAtScrape, type Registry } from '@fairlead/observability';
import type { CertificateSource } from '@fairlead/tunnel/gateway';
import type { Directory } from '../directory.js';

export interface StandingOptions {
  readonly registry: Registry;
  readonly directory: Pick<Directory, 'clusters' | 'syncedAtMs'>;
  readonly certificates: { readonly identity: CertificateSource; readonly serving: CertificateSource };
  /** Is the cluster linked to this replica, or to another one that beats? */
  readonly isLinked: (clusterId: string) => boolean;
  readonly clock?: Pick<Clock, 'nowMs'>;
}

/** What a replica knows of the fleet and of itself, read at each scrape. */
export function meterStanding(options: StandingOptions): void {
  meterClusters(options);
  meterCertificates(options);
  meterAge(options);
}

/** Those that never enrolled are not waited for. */
function meterClusters({ registry, directory, isLinked }: StandingOptions): void {
  const about = {
    name: 'fairlead_gateway_clusters',
    help: 'Clusters that have enrolled, as this replica knows them: linked to some replica, or unlinked.',
    labelNames: ['state'],
  };
  gaugeAtScrape(registry, about, (gauge) => {
    const counts = { linked: 0, unlinked: 0 };
    for (const { clusterId, generation } of directory.clusters()) {
      if (generation > 0) counts[isLinked(clusterId) ? 'linked' : 'unlinked'] += 1;
    }
    for (const [state, count] of Object.entries(counts)) gauge.set({ state }, count);
  });
}

function meterCertificates({ registry, certificates }: StandingOptions): void {
  const about = {
    name: 'fairlead_gateway_certificate_expiry_timestamp_seconds',
    help: 'When the certificates of this replica end: identity is what agents and replicas see, serving what the doors show.',
    labelNames: ['certificate'],
  };
  gaugeAtScrape(registry, about, (gauge) => {
    for (const certificate of ['identity', 'serving'] as const) {
      const { current } = certificates[certificate];
      if (current) gauge.set({ certificate }, current.notAfter.getTime() / 1_000);
    }
  });
}

function meterAge({ registry, directory, clock = systemClock }: StandingOptions): void {
  const about = {
    name: 'fairlead_gateway_snapshot_age_seconds',
    help: 'Since this replica last knew clusters, tokens, clients, revocations and roots as NATS has them; beyond an hour it takes no new links.',
  };
  gaugeAtScrape(registry, about, (gauge) => {
    const { syncedAtMs } = directory;
    if (syncedAtMs !== null) gauge.set(Math.max(0, clock.nowMs() - syncedAtMs) / 1_000);
  });
}
