import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { AgentFacts, KubeApiTarget } from '@fairlead/agent';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { z } from 'zod';

/** Version of this agent, as its image is tagged. */
export const AGENT_VERSION = '0.1.0';
const TIMEOUT_MS = 5_000;
const Version = z.object({ gitVersion: z.string().max(64) });

/** What the agent says about its cluster. Not knowing the version is no reason not to start. */
export async function agentFacts(api: KubeApiTarget & { readonly logger: Logger }): Promise<AgentFacts> {
  const platform = `${process.platform}/${process.arch}`;
  try {
    const { gitVersion } = Version.parse(JSON.parse(await getVersion(api)));
    return { agentVersion: AGENT_VERSION, kubernetesVersion: gitVersion, platform };
  } catch (error) {
    api.logger.warn('agent.facts.incomplete', { reason: messageOf(error) });
    return { agentVersion: AGENT_VERSION, kubernetesVersion: 'unknown', platform };
  }
}

async function getVersion(api: KubeApiTarget): Promise<string> {
  const { host, port, caPem } = api;
  const headers = { authorization: `Bearer ${await api.token()}` };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const asking = request({ host, port, ca: caPem, path: '/version', headers, signal });
    asking.once('response', (answer) => {
      text(answer).then(resolve, reject);
    });
    asking.once('error', reject);
    asking.end();
  });
}
