import type { ImageProgram } from './contract.js';

export interface OwnImageOptions {
  /** The file that the image's Node.js runs: the `main` of an app's `dist`, or its bundle. */
  readonly entry: string;
  /** The port that its Deployment's probes ask. Default 8080. */
  readonly healthPort?: number;
  /** On top of what the Deployment says, and in its place. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * One of our own images (agent, installer), for a test kubelet: the Node.js that runs this, its health server on the pod's
 * address, and the service account where the pod has it on this machine.
 */
export function ownImage({ entry, healthPort = 8080, env = {} }: OwnImageOptions): ImageProgram {
  return {
    program: [process.execPath, entry],
    env: {
      FAIRLEAD_HEALTH_LISTEN: `$(POD_IP):${healthPort}`,
      FAIRLEAD_SERVICE_ACCOUNT_DIR: '$(SERVICE_ACCOUNT_DIR)',
      ...env,
    },
  };
}
