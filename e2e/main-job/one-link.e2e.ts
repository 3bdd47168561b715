import { describe } from 'vitest';
import { agentOfImage } from '../support/agent-image.js';
import { shareStack } from '../support/shared-stack.js';

const makeAgent = agentOfImage();
shareStack(async () => ({ agentMain: await makeAgent() }));
// Counts what the first requests open: the first one.
describe('reach-cluster', async () => {
  await import('./stories/reach-cluster.js');
});
describe('agent-image', async () => {
  await import('./stories/agent-image.js');
});
describe('enrolment', async () => {
  await import('./stories/enrolment.js');
});
describe('command-line', async () => {
  await import('../gitops/stories/command-line.js');
});
// Kills all parts, one after the other: the last one.
describe('failures-one-link', async () => {
  await import('./stories/failures-one-link.js');
});
