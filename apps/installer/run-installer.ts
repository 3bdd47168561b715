import { systemClock } from '@fairlead/clock';
import { collectWhenIdle, splitHostPort } from '@fairlead/config';
import {
  argocd,
  createInstallerMetrics,
  flux,
  LADDER_LIMITS,
  runInstaller,
  type PreflightOptions,
} from '@fairlead/installer';
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
/** A look that takes longer than this, several times over, is one that hangs. One that waits for the Lease is ready to take it. */
const STALE_MS = 300_000;

/** Runs the installer until the signal is aborted. */
export async function run(config: InstallerConfig, logger: Logger, signal: AbortSignal): Promise<void> {
  let lookedMs: number | null = null;
  const looked = (): void => {
    lookedMs = systemClock.monotonicMs();
  };
  const registry = new Registry();
  const metrics = createInstallerMetrics(registry);
  const readiness = (): Check[] => [
    { name: 'api-server', ok: lookedMs !== null && systemClock.monotonicMs() - lookedMs < STALE_MS },
  ];
  await using _health = await startHealthServer({
    ...splitHostPort(config.FAIRLEAD_HEALTH_LISTEN),
    registry,
    readiness,
  });
  using api = createKubeApi({ access: await accessOf(config), userAgent: `fairlead-installer/${INSTALLER_VERSION}` });
  collectWhenIdle(signal);
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
      drivers: [flux, argocd],
      clock: systemClock,
      logger,
      intervalMs: config.FAIRLEAD_INTERVAL_SECONDS * 1_000,
      functional: {
        everyMs: config.FAIRLEAD_FUNCTIONAL_EVERY_SECONDS * 1_000,
        answerMs: config.FAIRLEAD_FUNCTIONAL_ANSWER_SECONDS * 1_000,
      },
      ladder: {
        ...LADDER_LIMITS,
        trustMs: config.FAIRLEAD_INTERVAL_SECONDS * 1_000,
        settleMs: { ...LADDER_LIMITS.settleMs, workloads: settleMs, functional: settleMs / 2 },
      },
      ...preflightOf(config),
      onReport: (report) => {
        looked();
        metrics.onReport(report);
      },
      onStandby: () => {
        looked();
        metrics.onStandby();
      },
      onFailed: () => metrics.onFailed(),
      onStep: (step) => metrics.onStep(step),
    },
    signal,
  );
}

/** Without ports, no host is looked at. */
function preflightOf(config: InstallerConfig): { readonly preflight?: PreflightOptions } {
  const { FAIRLEAD_PREFLIGHT_PORTS: ports, HTTPS_PROXY: behindProxy } = config;
  return ports.length === 0 ? {} : { preflight: { ports, behindProxy } };
}

function accessOf(config: InstallerConfig): Promise<ClusterAccess> {
  if (config.KUBECONFIG !== undefined) return accessFromKubeconfig(config.KUBECONFIG);
  return accessFromPod({
    host: config.KUBERNETES_SERVICE_HOST ?? 'kubernetes.default.svc',
    port: config.KUBERNETES_SERVICE_PORT,
    serviceAccountDir: config.FAIRLEAD_SERVICE_ACCOUNT_DIR,
  });
}
