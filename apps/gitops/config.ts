import { loadConfig } from '@fairlead/config';
import { credentialOf, serviceSettings } from '@fairlead/service/process';
import { z } from 'zod';

const seconds = z.coerce.number().int().min(10).max(86_400);

const Config = z.object({
  ...serviceSettings,
  FAIRLEAD_CREDENTIAL: credentialOf('gitops'),
  /** Bundles may be fetched from this machine and from private networks: from a mirror of one's own. */
  FAIRLEAD_BUNDLE_PRIVATE_ADDRESSES: z.stringbool().default(false),
  /** PEM of the authority of such a mirror: then only it is trusted. */
  FAIRLEAD_BUNDLE_CA_FILE: z.string().optional(),
  /** After so long without a report, nobody knows how a cluster is. */
  FAIRLEAD_REPORT_SILENCE_SECONDS: seconds.default(300),
  /** So many clusters, and such a share of those that report, that newly fail alike within so long open the breaker. */
  FAIRLEAD_BREAKER_CLUSTERS: z.coerce.number().int().min(2).max(100_000).default(5),
  FAIRLEAD_BREAKER_SHARE: z.coerce.number().min(0).max(1).default(0.2),
  FAIRLEAD_BREAKER_WINDOW_SECONDS: seconds.default(600),
  /** Repairs are held for so long at most while it is open. */
  FAIRLEAD_BREAKER_HOLD_SECONDS: seconds.default(3_600),
  /** What is wanted anew of a cluster may take so long before it counts as drifted. */
  FAIRLEAD_PROGRESS_SECONDS: seconds.default(600),
});
export type Config = z.output<typeof Config>;

/** Throws INVALID_ARGUMENT that lists every problem. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return loadConfig(Config, env);
}
