import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack();
describe('adoption', () => import('./stories/adoption.js').then(() => undefined));
describe('certificate-requests', () => import('./stories/certificate-requests.js').then(() => undefined));
describe('facts', () => import('./stories/facts.js').then(() => undefined));
describe('handed-out', () => import('./stories/handed-out.js').then(() => undefined));
// Takes rights from the demo's agent: the last one.
describe('preflight', () => import('./stories/preflight.js').then(() => undefined));
