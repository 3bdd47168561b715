import type { Log } from '../log.js';
import type { NetworkNamespace } from '../network/network-namespace.js';
import type { Exit } from '../process/launch.js';

/** A component that runs. Dispose of it, or call `stop`, when done. */
export interface Running<T> extends AsyncDisposable {
  readonly info: T;
  /** The server's process; for Kubernetes the API server's. Undefined when the testbed did not start it, or in a container. */
  readonly pid?: number;
  /** Stops in order and waits until it is gone; a server that does not stop in 10 s is killed. Does nothing the second time. */
  stop(): Promise<void>;
  /** Sends a signal to every process of the component, by pid. Throws TestbedError when the testbed did not start it. */
  kill(signal: NodeJS.Signals): void;
  /** Stops what still runs and starts again on the same port and data; resolves when it is ready. `exited` is then a new promise. */
  restart(): Promise<void>;
  /** Resolves when the first process of the component ends, for whatever reason. */
  readonly exited: Promise<Exit>;
}

/** A server's certificate, in PEM files that are read at each start. */
export interface ServerTls {
  /** The CA's, for the testbed's own probes. */
  readonly caFile: string;
  readonly certFile: string;
  /** Readable by its owner only. */
  readonly keyFile: string;
}

export interface NatsInfo {
  /** nats://…, or tls://… when it was started with TLS. */
  readonly url: string;
  readonly port: number;
  /** Absent when the address came from the environment. */
  readonly monitorUrl?: string;
}

export interface NatsOptions {
  /** Holds configuration, JetStream's files and the server's log; made when absent. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  /** Text for the server's configuration, for example an `authorization {}` block. */
  readonly authorizationConfig?: string | undefined;
  /** Given, clients must speak TLS 1.3 from the first byte. */
  readonly tls?: ServerTls | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
  /** JetStream's limit on disk, in bytes. */
  readonly maxStoreBytes?: number | undefined;
}

export interface PostgresInfo {
  /** postgres://…, a superuser's, on 127.0.0.1 unless it came from the environment; with TLS it ends in ?sslmode=verify-full. */
  readonly adminUrl: string;
  readonly port: number;
}

export interface PostgresOptions {
  /** Holds the cluster, the superuser's password and the server's log; made when absent. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Given, clients must speak TLS 1.3. */
  readonly tls?: ServerTls | undefined;
  /** With TLS: the `pg_hba.conf`. Default: everybody, with TLS and a password. */
  readonly accessConfig?: string | undefined;
  /** False skips fsync: faster, and still safe against a killed server, not against a machine that stops. Default true. */
  readonly durable?: boolean | undefined;
}

export interface KubeInfo {
  readonly url: string;
  readonly caPem: string;
  /** Mode 0600, in the data directory. */
  readonly adminKubeconfigPath: string;
  /** As the server says it: v1.34.4. */
  readonly version: string;
  /** Where its authority and its certificates are; absent unless the testbed runs it as processes. */
  readonly pkiDir?: string;
}

export interface KubeOptions {
  /** Holds keys (`pki/`), etcd's data, the admin's kubeconfig and the logs; made when absent. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly apiPort?: number | undefined;
  readonly etcdPort?: number | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
  /** True makes etcd fsync: slower, and safe against a machine that stops. Default false. */
  readonly durable?: boolean | undefined;
  /** True: always processes of this machine, wherever else Kubernetes could come from. Kubelets join only such a cluster. */
  readonly asProcesses?: boolean | undefined;
  /** For processes: an EgressSelectorConfiguration, read at each start. */
  readonly egressSelectorConfigPath?: string | undefined;
  /** For processes: true where a controller manager runs. Then pods belong to service accounts and are given their tokens. */
  readonly serviceAccounts?: boolean | undefined;
  /**
   * For processes: the network of a real node, in which all of it runs, and the node's address there. Pods then reach the API server,
   * a node may do only what is a node's, and containers may be privileged. Its ports are carried out. Default: this machine's.
   */
  readonly inside?: { readonly network: NetworkNamespace; readonly address: string } | undefined;
  /** For processes: the addresses of Services. Default 10.96.0.0/16, where nothing listens. */
  readonly serviceRange?: string | undefined;
  /** For processes: which of a node's addresses is dialled, the first that it has. Default `InternalIP`. */
  readonly kubeletAddressTypes?: readonly string[] | undefined;
}

export interface ControllerManagerInfo {
  readonly port: number;
}

export interface ControllerManagerOptions {
  /** Holds its log; made when absent. */
  readonly dataDir: string;
  /** The cluster, which the testbed runs as processes, with `serviceAccounts`. */
  readonly kube: KubeInfo;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a container of an image runs. */
export interface ImageProgram {
  /** A program of this machine and its arguments; a container's `command` replaces it. */
  readonly program: readonly string[];
  /**
   * After the container's own arguments. Here and in `env` there may be `$(POD_IP)`, `$(POD_NAME)`, `$(POD_NAMESPACE)`,
   * `$(SERVICE_ACCOUNT_DIR)`, `$(VOLUMES_DIR)`, where each volume has a folder, and `$(<SERVICE>_SERVICE_HOST)`.
   */
  readonly appendArgs?: readonly string[];
  /** Files and folders of the image, by where they are on this machine, for those that a container names. */
  readonly paths?: Readonly<Record<string, string>>;
  /** Whatever the container says. */
  readonly env?: Readonly<Record<string, string>>;
}

/** By image, as the container names it. */
export type Images = Readonly<Record<string, ImageProgram | readonly string[]>>;

export interface KubeletInfo {
  readonly nodeName: string;
  /** Where it listens: what the kube-apiserver dials. */
  readonly address: string;
  readonly port: number;
}

export interface KubeletOptions {
  /** Holds its certificate, the containers' logs and working directories, and its own log; made when absent. */
  readonly dataDir: string;
  /** The cluster that it joins, which the testbed runs as processes. */
  readonly kube: KubeInfo;
  readonly nodeName: string;
  /** Any other image is an ErrImagePull. */
  readonly images: Images;
  /** True: takes every pod that has no node, as a scheduler of a cluster with this node would. Default false. */
  readonly bindsPods?: boolean | undefined;
  /** True: carries connections to Services whose address is a loopback one to their pods, as kube-proxy would. Default false. */
  readonly servesServices?: boolean | undefined;
  /** An IPv4 address of this machine. Default 127.0.0.1. */
  readonly address?: string | undefined;
  /**
   * Where it and its pods run, with the API server's port carried in and its own carried out; to be disposed of after it. Its
   * `address` is the default then. Default: this machine's network.
   */
  readonly network?: NetworkNamespace | undefined;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface GiteaInfo {
  /** https://127.0.0.1:…, with a certificate of `caPem`. */
  readonly url: string;
  readonly port: number;
  /** Of the built-in SSH server, on 127.0.0.1; its user is `git`. */
  readonly sshPort: number;
  readonly caPem: string;
  /** `ssh-ed25519 AAAA…`. */
  readonly sshHostKey: string;
  readonly adminUser: string;
  /** For everything there is; also in `admin-token` in the data directory. */
  readonly adminToken: string;
}

export interface GiteaOptions {
  /** Holds keys (`pki/`), the configuration, the database, the repositories and the log; made when absent. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  readonly sshPort?: number | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Somebody who can log in at a ZitadelOidc. */
export interface OidcUser {
  /** `sub` of their tokens. */
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

export interface ZitadelOidcInfo {
  /** `iss` of its tokens, with the slash at its end. */
  readonly url: string;
  readonly port: number;
  /** A native client without a secret. */
  readonly clientId: string;
  readonly users: readonly OidcUser[];
}

export interface ZitadelOidcOptions {
  /** Holds the users' file and the log; made when absent. What it knows of logins, and its keys, are in memory: a restart forgets both. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number | undefined;
  /** Where it may send browsers back to; on loopback whatever the port. Default http://127.0.0.1/callback. */
  readonly redirectUris?: readonly string[] | undefined;
  readonly log?: Log | undefined;
  readonly signal?: AbortSignal | undefined;
}
