import { mkdirSync } from 'node:fs';
import { freePort, type KubeInfo } from '@fairlead/testbed';
import type { Administrator } from '../access/administrator.js';
import { StackError } from '../errors.js';
import type { StackLog } from '../events.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { StackProcess } from '../process/supervised-process.js';
import type { AgentOptions, Stack } from '../stack.js';
import type { StateDir } from '../state/state-dir.js';
import { joinCluster } from './join-cluster.js';
import { baseEnvironment } from '../process/base-environment.js';
import { nodeUnit } from '../process/node-unit.js';
import type { Unit } from '../process/unit.js';
import { keepTokenFresh, materialiseSandbox, sandboxUser, type SandboxOptions, type User } from './pod-sandbox.js';

interface AgentsOptions {
  readonly state: StateDir;
  readonly group: ProcessGroup;
  readonly admin: Administrator;
  readonly kubectl: Stack['kubectlBinary'];
  /** The agent's entry file. */
  readonly main: string;
  readonly endpoints: readonly string[];
  readonly log: StackLog;
}

/** Agents of one stack: joins their clusters, starts them and keeps their tokens fresh until disposed. */
export class Agents implements Disposable {
  readonly #stopped = new AbortController();

  constructor(private readonly options: AgentsOptions) {}

  /** Joins the cluster that `kube` is and runs its agent. Resolves when the agent is ready. */
  async start(wanted: AgentOptions & { readonly kube: KubeInfo }, healthPort?: number): Promise<StackProcess> {
    const { state, group, admin, kubectl, endpoints, log } = this.options;
    const { clusterName, links = 1, targets = [], kube } = wanted;
    if ('unavailable' in kubectl) throw new StackError(`there is no kubectl: ${kubectl.unavailable}`);
    await joinCluster({ clusterName, links, targets, kube, admin, endpoints, kubectlPath: kubectl.path });
    const name = `agent-${clusterName}`;
    // Passed through by the agent's user; what is inside belongs to it.
    for (const folder of ['agents', `agents/${clusterName}`])
      mkdirSync(state.file(folder), { recursive: true, mode: 0o711 });
    const sandbox = { kube, kubectlPath: kubectl.path, dir: state.file('agents', clusterName, 'pod') };
    const port = healthPort ?? (await freePort());
    const { main } = this.options;
    const options = { name, main, sandbox, logPath: state.logFile(name), log, healthPort: port, env: wanted.env };
    const { unit, user } = await agentUnit(options);
    const process = await group.start(unit, 'edge');
    const say = (line: string): void => log({ kind: 'line', process: name, line });
    void keepTokenFresh(sandbox, user, say, this.#stopped.signal);
    return process;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(new StackError('the stack is being stopped'));
  }
}

interface AgentUnitOptions {
  readonly name: string;
  /** The agent's entry file. */
  readonly main: string;
  readonly sandbox: SandboxOptions;
  readonly logPath: string;
  readonly log: StackLog;
  /** In place of the pod's own address, which this machine shares with everybody. */
  readonly healthPort: number;
  /** On top of what the Deployment says. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** The agent's pod as a process: each start reads the Deployment and its Secrets anew, as a new pod would. */
async function agentUnit(options: AgentUnitOptions): Promise<{ readonly unit: Unit; readonly user: User | undefined }> {
  const { name, main, sandbox, logPath, log, healthPort } = options;
  const user = await sandboxUser(sandbox, [main]);
  const unit = nodeUnit({
    name,
    main,
    cwd: '/',
    logPath,
    log,
    user,
    healthUrl: `http://127.0.0.1:${healthPort}`,
    env: async () => ({
      ...baseEnvironment(),
      ...(await materialiseSandbox(sandbox, user)).env,
      FAIRLEAD_HEALTH_LISTEN: `127.0.0.1:${healthPort}`,
      ...options.env,
    }),
  });
  return { unit, user };
}
