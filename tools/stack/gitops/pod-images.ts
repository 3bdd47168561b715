import { fluxImages, ownImage, type Images } from '@fairlead/testbed';
import { AGENT_IMAGE, INSTALLER_IMAGE } from '../control-plane/service-environments.js';
import type { StackLog } from '../events.js';
import { entryOf } from '../state/repository.js';

export interface PodImagesOptions {
  /** As import manifests name it. Default `AGENT_IMAGE`. */
  readonly agentImage?: string;
  /** The agent's entry file. Default: this repository's own. */
  readonly agentMain?: string;
  /** On top of what the import manifest tells the agent. */
  readonly agentEnv?: Readonly<Record<string, string>> | undefined;
  /** On top of what the import manifest tells the installer: shorter times, above all. */
  readonly installerEnv?: Readonly<Record<string, string>>;
  readonly log?: StackLog;
  readonly signal?: AbortSignal;
}

/** What a test kubelet runs for the pods of a cluster with GitOps: our agent and installer, and Flux's controllers. Builds these if they are not here. */
export async function podImages(options: PodImagesOptions = {}): Promise<Images> {
  const { agentImage = AGENT_IMAGE, agentMain = entryOf('agent'), agentEnv, installerEnv, log, signal } = options;
  const say = log && ((text: string): void => log({ kind: 'progress', text }));
  return {
    [agentImage]: ownImage({ entry: agentMain, ...(agentEnv ? { env: agentEnv } : {}) }),
    [INSTALLER_IMAGE]: ownImage({ entry: entryOf('installer'), ...(installerEnv ? { env: installerEnv } : {}) }),
    ...(await fluxImages({ log: say, signal })),
  };
}
