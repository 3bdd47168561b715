import { describe } from 'vitest';
import { shareStack } from '../support/shared-stack.js';

shareStack();
describe('reach-cluster', () => import('./stories/reach-cluster.js').then(() => undefined));
describe('enrolment', () => import('./stories/enrolment.js').then(() => undefined));
describe('command-line', () => import('../gitops/stories/command-line.js').then(() => undefined));
