import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack({ links: 2 });
describe('gateway-revocation', () => import('./stories/gateway-revocation.js').then(() => undefined));
describe('failures-two-links', () => import('../main-job/stories/failures-two-links.js').then(() => undefined));
describe('doctor', () => import('./stories/doctor.js').then(() => undefined));
// Takes the root's key away: the last one.
describe('expired-ca', () => import('./stories/expired-ca.js').then(() => undefined));
