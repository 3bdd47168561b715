import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack();
describe('adoption', async () => {
  await import('./stories/adoption.js');
});
describe('certificate-requests', async () => {
  await import('./stories/certificate-requests.js');
});
describe('facts', async () => {
  await import('./stories/facts.js');
});
describe('handed-out', async () => {
  await import('./stories/handed-out.js');
});
// Takes rights from the demo's agent: the last one.
describe('preflight', async () => {
  await import('./stories/preflight.js');
});
