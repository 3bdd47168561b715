import { mkdirSync } from 'node:fs';
import { freePort, type KubeInfo } from '@fairlead/testbed';
import type { Administrator } from '../access/administrator.js';
import { StackError } from '../errors.js';
import type { StackLog } from '../events.js';
import type { ProcessGroup } from '../process/process-group.js';
import type { StackProcess } from '../process/supervised-process.js';
import type { AgentOptions, Stack } from '../stack.js';
import type { StateDir } from '../state/state-dir.js';
import { agentUnit, keepTokenFresh } from './agent-unit.js';
import { joinCluster } from './join-cluster.js';

export interface AgentsOptions {
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
  readonly #options: AgentsOptions;
  readonly #stopped = new AbortController();

  constructor(options: AgentsOptions) {
    this.#options = options;
  }

  /** Joins the cluster that `kube` is and runs its agent. Resolves when the agent is ready. */
  async start(wanted: AgentOptions & { readonly kube: KubeInfo }, healthPort?: number): Promise<StackProcess> {
    const { state, group, admin, kubectl, endpoints, log } = this.#options;
    const { clusterName, links = 1, targets = [], kube } = wanted;
    if ('unavailable' in kubectl) throw new StackError(`there is no kubectl: ${kubectl.unavailable}`);
    await joinCluster({ clusterName, links, targets, kube, admin, endpoints, kubectlPath: kubectl.path });
    const name = `agent-${clusterName}`;
    // Passed through by the agent's user; what is inside belongs to it.
    for (const folder of ['agents', `agents/${clusterName}`])
      mkdirSync(state.file(folder), { recursive: true, mode: 0o711 });
    const sandbox = { kube, kubectlPath: kubectl.path, dir: state.file('agents', clusterName, 'pod') };
    const port = healthPort ?? (await freePort());
    const { main } = this.#options;
    const options = { name, main, sandbox, logPath: state.logFile(name), log, healthPort: port, env: wanted.env };
    const { unit, user } = await agentUnit(options);
    const process = await group.start(unit, 'edge');
    void keepTokenFresh(options, user, this.#stopped.signal);
    return process;
  }

  [Symbol.dispose](): void {
    this.#stopped.abort(new StackError('the stack is being stopped'));
  }
}
