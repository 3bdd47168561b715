import { installIn, startTestCluster, type Pace, type TestCluster } from './cluster.js';
import { bring, type Bundle } from './control-plane.js';
import { startStandIn, type StandIn } from './stand-in.js';

/** A test cluster where a stand-in plays the controllers, and an installer runs in this process. */
export interface InstalledCluster extends TestCluster {
  readonly standIn: StandIn;
  stopInstaller(): Promise<void>;
  /** Another one, after the one before was stopped; by default at the quick pace of tests. */
  startInstaller(pace?: Pace): void;
}

export interface InstalledClusterOptions {
  /** Is brought to the cluster; by default none is. */
  readonly bundle?: Bundle;
  /** What is there before the installer is; the stand-in plays already. */
  readonly before?: (cluster: TestCluster) => Promise<void>;
}

export async function startInstalledCluster({
  bundle,
  before,
}: InstalledClusterOptions = {}): Promise<InstalledCluster> {
  await using parts = new AsyncDisposableStack();
  const cluster = parts.use(await startTestCluster());
  const standIn = parts.use(startStandIn(cluster.objects));
  await before?.(cluster);
  let installer: AsyncDisposable | undefined;
  const startInstaller = (pace?: Pace): void => void (installer = installIn(cluster.objects, cluster.authority, pace));
  const stopInstaller = async (): Promise<void> => {
    await installer?.[Symbol.asyncDispose]();
    installer = undefined;
  };
  parts.defer(stopInstaller);
  startInstaller();
  if (bundle) await bring(cluster.objects, bundle);
  const owned = parts.move();
  return { ...cluster, standIn, startInstaller, stopInstaller, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
