import type { UserNames } from '@fairlead/access-rules';

/** Above the door's limit, so that what the gateway adds to a head it let in fits too. */
export const MAX_HEADER_BYTES = 128 * 1024;

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
