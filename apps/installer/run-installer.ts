import { systemClock } from '@fairlead/clock';
import { splitHostPort } from '@fairlead/config';
import { flux, LADDER_LIMITS, runInstaller } from '@fairlead/installer';
import {
  accessFromKubeconfig,
  accessFromPod,
  createKubeApi,
  createObjects,
  type ClusterAccess,
} from '@fairlead/kube/rest';
import { Registry, startHealthServer, type Check, type Logger } from '@fairlead/observability';
import type { InstallerConfig } from './config.js';

/** Version of this installer, as its image is tagged. */
const INSTALLER_VERSION = '0.1.0';
/** A look that takes longer than this, several times over, is one that hangs. */
const STALE_MS = 300_000;

/** Runs the installer until the signal is aborted. */
export async function run(config: InstallerConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  let lookedMs: number | null = null;
  const readiness = (): Check[] => [
    { name: 'api-server', ok: lookedMs !== null && systemClock.monotonicMs() - lookedMs < STALE_MS },
  ];
  await using _health = await startHealthServer({
    ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN),
    registry: new Registry(),
    readiness,
  });
  using api = createKubeApi({ access: await accessOf(config), userAgent: `fairlead-installer/${INSTALLER_VERSION}` });
  const settleMs = config.FAIRLEAD_SETTLE_SECONDS * 1_000;
  await runInstaller(
    {
      installed: {
        clusterId: config.FAIRLEAD_CLUSTER_ID,
        trustDomain: config.FAIRLEAD_TRUST_DOMAIN,
        pins: config.FAIRLEAD_ROOT_PINS,
      },
      namespace: config.FAIRLEAD_NAMESPACE,
      version: INSTALLER_VERSION,
      objects: createObjects(api),
      drivers: [flux],
      clock: systemClock,
      logger,
      intervalMs: config.FAIRLEAD_INTERVAL_SECONDS * 1_000,
      functional: {
        everyMs: config.FAIRLEAD_FUNCTIONAL_EVERY_SECONDS * 1_000,
        answerMs: config.FAIRLEAD_FUNCTIONAL_ANSWER_SECONDS * 1_000,
      },
      ladder: {
        ...LADDER_LIMITS,
        settleMs: { ...LADDER_LIMITS.settleMs, workloads: settleMs, functional: settleMs / 2 },
      },
      onReport: () => {
        lookedMs = systemClock.monotonicMs();
      },
    },
    signal,
  );
}

function accessOf(config: InstallerConfig): Promise<ClusterAccess> {
  if (config.KUBECONFIG !== undefined) return accessFromKubeconfig(config.KUBECONFIG);
  return accessFromPod({
    host: config.KUBERNETES_SERVICE_HOST ?? 'kubernetes.default.svc',
    port: config.KUBERNETES_SERVICE_PORT,
    serviceAccountDir: config.FAIRLEAD_SERVICE_ACCOUNT_DIR,
  });
}
