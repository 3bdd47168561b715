import type { Role, Singleton } from '@fairlead/contracts';
import type { KubeInfo } from '@fairlead/testbed';
import type { DemoUser } from './demo-issuer/users.js';
import type { StackLog } from './events.js';
import type { CommandOutput } from './process/run-command.js';
import type { StackProcess } from './process/supervised-process.js';

export const DEFAULT_GATEWAYS: readonly string[] = ['gateway-a', 'gateway-b'];

export interface StackOptions {
  /** Everything that survives a restart; made when absent. One process at a time. */
  readonly stateDir: string;
  /** Ports are counted from it; default 7000. 0: free ones, which the state directory keeps. */
  readonly basePort?: number;
  readonly log?: StackLog;
  /** Gives the boot up. After the boot use `stop`. */
  readonly signal?: AbortSignal;
  /** False: no demo cluster. Default true. */
  readonly demo?: boolean;
  /**
   * True: the demo cluster follows a repository of a local Git host. It then runs what is applied to it, and the folder's later
   * runs have it too. Default false.
   */
  readonly gitops?: boolean;
  /** True: a demo without GitOps has a node too, with one pod, a process of this machine. Default false. */
  readonly demoNode?: boolean;
  /** True: there is an issuer where anybody on this machine logs in as one of two people. Default false. */
  readonly demoIssuer?: boolean;
  /** Replicas that the demo's agent keeps a link to. Default 1, so that one of two gateways does not hold it. */
  readonly links?: number;
  /** What the demo's agent may open for raw TCP, as rules; they are set when the demo cluster is first made. Default none. */
  readonly demoTargets?: readonly string[];
  /** How long a gateway that went silent still counts. Default 15. */
  readonly leaseSeconds?: number;
  /** How long certificates live, people's and programs' alike; it holds for those that are made from then on. Default 24 hours. */
  readonly certificateTtlSeconds?: number;
  /** Names of the replicas. Default `gateway-a`, `gateway-b`. */
  readonly gateways?: readonly string[];
  /** Further settings of every process of a role, such as shorter limits for a test. Default none. */
  readonly env?: Readonly<Partial<Record<Role, Readonly<Record<string, string>>>>>;
  /** The same of single gateways, by name, and after that of their role; undefined takes a setting away. Default none. */
  readonly gatewayEnv?: Readonly<Record<string, Readonly<Record<string, string | undefined>>>>;
  /** Whether processes that die are started again (with backoff). Each has its own switch too. Default true. */
  readonly restart?: boolean;
  /** The agent's entry file. Default: this repository's own; a test of the image passes the one in the image's tree. */
  readonly agentMain?: string;
  /**
   * Name or IPv4 address by which clusters and people elsewhere reach this machine. Given, the API, the doors and the
   * agents' ports listen on all interfaces. Default: loopback only.
   */
  readonly advertise?: string;
  /** The agent's image in import manifests. Default `localhost/fairlead/agent:dev`. */
  readonly agentImage?: string;
  /** Of our own processes. Default `info`. */
  readonly logLevel?: string;
  /** False: Postgres does not wait for the disk. What it confirmed outlives a killed server, not a machine that stops. Default true. */
  readonly durable?: boolean;
}

export interface GatewayAddresses {
  readonly name: string;
  readonly doorUrl: string;
  readonly connectUrl: string;
  readonly linkAddress: string;
  readonly relayAddress: string;
  readonly healthUrl: string;
}

export interface Demo {
  readonly clusterName: 'demo';
  readonly kubeInfo: KubeInfo;
  readonly adminKubeconfigPath: string;
  /** What runs there, or why nothing does; absent: it was not asked for. */
  readonly pod?: DemoPod | { readonly unavailable: string };
  /** What it follows, if it was asked for. */
  readonly gitops?: DemoGitOps;
}

/** In the namespace `default`, of one container with a shell. */
export interface DemoPod {
  readonly name: string;
}

/** An issuer without passwords, as it is put at the API. */
export interface DemoLogin {
  readonly name: 'demo';
  readonly url: string;
  readonly users: readonly DemoUser[];
}

export interface DemoGitOps {
  /** Of the repository, for people: HTTPS under the authority of `caFile`. */
  readonly url: string;
  readonly caFile: string;
  /** A clone of it that may push. */
  readonly workingCopy: string;
  /** A file in it that holds the ConfigMap `from-git`. */
  readonly file: string;
  /** How the cluster was when the boot ended: `healthy, follows main@sha1:…`. */
  readonly status: string;
}

export interface CliOptions {
  readonly stdin?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface KubectlOptions extends CliOptions {
  /** Default: the kubeconfig's current context. */
  readonly context?: string;
}

export interface AgentOptions {
  /** Created if there is no such cluster. */
  readonly clusterName: string;
  /** Default 1. */
  readonly links?: number;
  /** What it may open for raw TCP, if the cluster is created. Default none. */
  readonly targets?: readonly string[];
  /** The cluster that the agent is in: its import manifest is applied there. One agent a cluster; only the demo has a default. */
  readonly kube?: KubeInfo;
  /** On top of what the import manifest says. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A control plane that runs, and its demo cluster. */
export interface Stack extends AsyncDisposable {
  readonly stateDir: string;
  readonly processes: readonly StackProcess[];
  /** The process of that name. Throws StackError if there is none. */
  process(name: string): StackProcess;
  readonly api: { readonly url: string; readonly caFile: string; readonly adminTokenFile: string };
  /** Where nats-server is, and the CA of its certificate if it speaks TLS. */
  readonly nats: { readonly url: string; readonly caFile?: string };
  readonly gateways: readonly GatewayAddresses[];
  /** Of health and metrics of a service: `http://host:port`. */
  healthUrl(service: Singleton): string;
  /** Where people of the demo log in, if it was asked for. */
  readonly demoIssuer: DemoLogin | undefined;
  /** The demo cluster, or why there is none. */
  readonly demo: Demo | { readonly unavailable: string };
  /** Written by `fairlead kubeconfig`; its contexts are `<cluster>@<gateway>`. */
  readonly kubeconfigPath: string;
  /** Path of the pinned kubectl, or why there is none. */
  readonly kubectlBinary: { readonly path: string } | { readonly unavailable: string };
  /** The fairlead command as a script for people, logged in. */
  readonly cliPath: string;
  /** The fairlead command with a home of its own in the state directory, logged in as the administrator. */
  cli(args: readonly string[], options?: CliOptions): Promise<CommandOutput>;
  /** The pinned kubectl with `kubeconfigPath`. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<CommandOutput>;
  /** One more agent, joined by its import manifest. Its process is named `agent-<cluster>`. */
  startAgent(options: AgentOptions): Promise<StackProcess>;
  /** Ends everything; nothing is left running. Safe to call more than once. */
  stop(): Promise<void>;
}
