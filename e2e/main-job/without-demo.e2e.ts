import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';
import { AGENT_POD_IMAGE } from '../tunnel/agent-pod-image.js';

shareStack({ demo: false, agentImage: AGENT_POD_IMAGE });
describe('tenants', async () => {
  await import('../access/stories/tenants.js');
});
describe('agent-pod', async () => {
  await import('../tunnel/stories/agent-pod.js');
});
