import type { Logger, Registry, Tracer } from '@fairlead/observability';
import { eventually } from '@fairlead/testing';
import { clientCertificate, connectThrough, type ConnectAnswer } from './connect-client.js';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { startInstallation, type Replica, type TestInstallation } from './replicas.js';
import { startTcpTarget, type TcpTarget } from '@fairlead/tunnel/testing';

type Process = 'gateway-a' | 'gateway-b' | 'agent';

export interface RelayedClusterOptions {
  readonly loggerOf?: (process: Process) => Logger;
  readonly tracerOf?: (process: Process) => Promise<Tracer>;
  readonly agentRegistry?: Registry;
  /** Rules for raw TCP targets. */
  readonly allowTargets: readonly string[];
}

/** Two replicas and one agent, linked to the first: whoever comes to the second is relayed. */
export interface RelayedCluster extends AsyncDisposable {
  readonly installation: TestInstallation;
  readonly api: RecordingApiServer;
  readonly target: TcpTarget;
  /** Holds the link. */
  readonly a: Replica;
  readonly b: Replica;
  /** One CONNECT of a client that may reach the cluster, to a port of 127.0.0.1: by default the target's. */
  readonly through: (replica: Replica, headers?: readonly string[], port?: number) => Promise<ConnectAnswer>;
}

/** Resolves when the second replica leads to the target, and nothing of trying that is left. */
export async function startRelayedCluster(options: RelayedClusterOptions): Promise<RelayedCluster> {
  const { agentRegistry: registry, allowTargets } = options;
  await using starting = new AsyncDisposableStack();
  const target = starting.use(await startTcpTarget());
  const installation = await startInstallation();
  const api = await startRecordingApiServer(installation.authority);
  // Replicas and agent end before whom they talk to.
  starting.use(api);
  starting.use(installation);
  const told = async (process: Process): Promise<{ logger?: Logger; tracer?: Tracer }> => ({
    ...(options.loggerOf ? { logger: options.loggerOf(process) } : {}),
    ...(options.tracerOf ? { tracer: await options.tracerOf(process) } : {}),
  });
  const a = await installation.startReplica('gateway-a', await told('gateway-a'));
  const b = await installation.startReplica('gateway-b', await told('gateway-b'));
  const agent = { replicas: [a], apiPort: api.port, allowTargets, ...(registry ? { registry } : {}) };
  await installation.startAgent({ ...agent, ...(await told('agent')) });
  const { clientId } = await installation.addClient([installation.cluster]);
  const certificate = await clientCertificate(installation.authority, clientId);
  const through: RelayedCluster['through'] = (replica, headers = [], port = target.port) =>
    connectThrough(replica, { authority: installation.authority, certificate, target: `127.0.0.1:${port}`, headers });
  await eventually(async () => {
    const { head, plain } = await through(b);
    plain.resetAndDestroy();
    if (!head.includes(' 200 ')) throw new Error(head);
  });
  await eventually(() => {
    if (target.sockets.size > 0) throw new Error('connections to the target are left');
  });
  const owned = starting.move();
  return { installation, api, target, a, b, through, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
