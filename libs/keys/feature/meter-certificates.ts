import { messageOf } from '@fairlead/errors';
import { RunLoop } from '@fairlead/loop';
import { Gauge, gaugeAtScrape, type Logger, type Registry } from '@fairlead/observability';
import { readFrom } from '@fairlead/persistence';
import type { DataSource } from 'typeorm';
import { lapsingClusters } from '../store/certificate-store.js';
import type { CurrentCa } from './current-ca.js';

/** How often agents' certificates are counted. */
const COUNT_MS = 300_000;

export interface MeterCertificatesOptions {
  readonly ca: Pick<CurrentCa, 'lives' | 'now'>;
  readonly database: DataSource;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** When the CA's own certificates end, and how many clusters' are about to without having been renewed. */
export function meterCertificates({ ca, database, registry, logger }: MeterCertificatesOptions): AsyncDisposable {
  gaugeAtScrape(
    registry,
    {
      name: 'fairlead_keys_ca_expiry_timestamp_seconds',
      help: 'When the certificates of the CA that sign now end.',
      labelNames: ['tree', 'role'],
    },
    (gauge) => {
      for (const { tree, role, notAfter } of ca.lives()) gauge.set({ tree, role }, notAfter.getTime() / 1_000);
    },
  );
  const lapsing = new Gauge({
    name: 'fairlead_keys_lapsing_clusters',
    help: 'Clusters whose newest certificate has less than a fifth of its life left: agents renew at a third. Every replica counts all.',
    registers: [registry],
  });
  return new RunLoop({
    intervalMs: COUNT_MS,
    work: async () => lapsing.set(await readFrom(database, (manager) => lapsingClusters(manager, ca.now()))),
    onFailed: (error) => logger.debug('certificates.not_counted', { reason: messageOf(error) }),
  });
}
