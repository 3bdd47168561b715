import type { UserNames } from '@fairlead/access-rules';

/** Where the kube-apiserver is and how the agent shows itself to it. */
export interface KubeApiTarget {
  readonly host: string;
  readonly port: number;
  readonly caPem: string;
  /** How it is told who a request is of; default `user`. */
  readonly userNames?: UserNames | undefined;
  /** The service account's token as it is about now: the kubelet replaces it from time to time. */
  token(): Promise<string>;
}
