import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack();
describe('reach-cluster', async () => {
  await import('./stories/reach-cluster.js');
});
describe('enrolment', async () => {
  await import('./stories/enrolment.js');
});
describe('command-line', async () => {
  await import('../gitops/stories/command-line.js');
});
