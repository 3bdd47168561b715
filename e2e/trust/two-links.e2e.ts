import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack({ links: 2 });
describe('gateway-revocation', async () => {
  await import('./stories/gateway-revocation.js');
});
describe('failures-two-links', async () => {
  await import('../main-job/stories/failures-two-links.js');
});
describe('doctor', async () => {
  await import('./stories/doctor.js');
});
// Takes the root's key away: the last one.
describe('expired-ca', async () => {
  await import('./stories/expired-ca.js');
});
