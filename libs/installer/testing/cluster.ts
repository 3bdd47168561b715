import { join } from 'node:path';
import { HANDOVER, InstallerReport } from '@fairlead/desired-state';
import { accessFromKubeconfig, createKubeApi, createObjects, type Objects, type ObjectRef } from '@fairlead/kube/rest';
import { systemClock } from '@fairlead/clock';
import { createLogger, silentLogger } from '@fairlead/observability';
import { startKubernetes, type KubeInfo, type Running } from '@fairlead/testbed';
import { eventually, scratchDir, testAuthority, type TestAuthority } from '@fairlead/testing';
import type { FunctionalLimits } from '../health/functional.js';
import { argocd, flux, LADDER_LIMITS, runInstaller, type LadderLimits, type PreflightOptions } from '../index.js';
import { CLUSTER_ID, NAMESPACE } from './control-plane.js';

/** A real API server, and an authority whose desired state counts in it. */
export interface TestCluster extends AsyncDisposable {
  readonly objects: Objects;
  readonly kubeconfigPath: string;
  readonly kubernetes: Running<KubeInfo>;
  readonly authority: TestAuthority;
  /** The report, once it is as the check wants it. */
  report(check: (report: InstallerReport) => void): Promise<InstallerReport>;
  /** Runs an installer in this process, until it is disposed of. */
  install(): AsyncDisposable;
}

export async function startTestCluster(): Promise<TestCluster> {
  await using parts = new AsyncDisposableStack();
  const scratch = parts.use(await scratchDir());
  const kubernetes = parts.use(await startKubernetes({ dataDir: join(scratch.path, 'kubernetes'), asProcesses: true }));
  const kubeconfigPath = kubernetes.info.adminKubeconfigPath;
  const authority = await testAuthority();
  const api = parts.use(createKubeApi({ access: await accessFromKubeconfig(kubeconfigPath), userAgent: 'test' }));
  const objects = createObjects(api);
  await objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  const all = parts.move();
  return {
    objects,
    kubeconfigPath,
    kubernetes,
    authority,
    report: (check) => reportWhen(objects, check),
    install: () => installIn(objects, authority),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The report, once it is as the check wants it. */
export function reportWhen(
  objects: Objects,
  check: (report: InstallerReport) => void,
  { timeoutMs = 90_000 } = {},
): Promise<InstallerReport> {
  return eventually(async () => checked(await readReport(objects), check), { timeoutMs });
}

export async function readReport(objects: Objects): Promise<InstallerReport> {
  const ref: ObjectRef = { apiVersion: 'v1', kind: 'ConfigMap', namespace: NAMESPACE, name: HANDOVER.report };
  const found = await objects.read(ref);
  const data = (found?.['data'] ?? {}) as Record<string, string>;
  return InstallerReport.parse(JSON.parse(data[HANDOVER.keys.report] ?? 'null'));
}

function checked(report: InstallerReport, check: (report: InstallerReport) => void): InstallerReport {
  check(report);
  return report;
}

/** Another pace than the quick one of tests without controllers, and what is looked at besides. */
export interface Pace {
  readonly ladder?: Partial<LadderLimits>;
  readonly functional?: FunctionalLimits;
  readonly preflight?: PreflightOptions;
}

/** Runs an installer in this process, until it is disposed of. */
export function installIn(objects: Objects, authority: TestAuthority, pace?: Pace): AsyncDisposable {
  const stop = new AbortController();
  const { trustDomain, pins } = authority;
  const running = runInstaller(
    {
      installed: { clusterId: CLUSTER_ID, trustDomain, pins },
      namespace: NAMESPACE,
      version: 'test',
      objects,
      drivers: [flux, argocd],
      clock: systemClock,
      logger: process.env['FAIRLEAD_TEST_LOG'] === undefined ? silentLogger : createLogger('installer', 'debug'),
      intervalMs: 500,
      ladder: { ...QUICK_LADDER, ...pace?.ladder },
      functional: pace?.functional ?? { everyMs: 2_000, answerMs: 3_000 },
      webhooks: { graceMs: 1_000, forgetMs: 60_000 },
      ...(pace?.preflight ? { preflight: pace.preflight } : {}),
    },
    stop.signal,
  );
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

/** The ladder of production at the pace of a test. */
const QUICK_LADDER = {
  ...LADDER_LIMITS,
  repairsPerHour: 100,
  trustMs: 500,
  settleMs: { objects: 500, workloads: 2_000, functional: 1_000 },
  backoff: { baseMs: 100, capMs: 1_000 },
};
