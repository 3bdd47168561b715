import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { untilAnswered } from './kube-client.js';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';

interface RecordedInstallation extends AsyncDisposable {
  readonly installation: TestInstallation;
  /** What agents are to be given as their cluster's API server. */
  readonly api: RecordingApiServer;
}

/** One replica, and the agent of `demo`, whose API server is `api`. */
export interface LinkedCluster extends RecordedInstallation {
  readonly replica: Replica;
}

/** Two replicas, and no agent yet. */
export interface ReplicaPair extends RecordedInstallation {
  readonly a: Replica;
  readonly b: Replica;
}

/** Resolves when the replica's Kubernetes API door leads to the cluster. */
export async function startLinkedCluster(): Promise<LinkedCluster> {
  await using starting = new AsyncDisposableStack();
  const { installation, api } = await recorded(starting);
  const replica = await installation.startReplica('gateway-a');
  await installation.startAgent({ replicas: [replica], apiPort: api.port });
  await untilAnswered(installation, replica);
  const owned = starting.move();
  return { installation, api, replica, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export async function startReplicaPair(): Promise<ReplicaPair> {
  await using starting = new AsyncDisposableStack();
  const { installation, api } = await recorded(starting);
  const [a, b] = await Promise.all([installation.startReplica('gateway-a'), installation.startReplica('gateway-b')]);
  const owned = starting.move();
  return { installation, api, a, b, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Replicas and agents end before whom they talk to. */
async function recorded(starting: AsyncDisposableStack): Promise<Omit<RecordedInstallation, keyof AsyncDisposable>> {
  const installation = await startInstallation();
  const api = await startRecordingApiServer(installation.authority);
  starting.use(api);
  starting.use(installation);
  return { installation, api };
}
