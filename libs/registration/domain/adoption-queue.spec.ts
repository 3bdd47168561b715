import { expect, it } from 'vitest';
import { QUEUE, whyFull } from './adoption-queue.js';

it('takes requests up to what one address and one tenant may have waiting', () => {
  expect(whyFull({ ofTenant: QUEUE.perTenant - 1, ofAddress: QUEUE.perAddress - 1 }, false)).toBeNull();
  expect(whyFull({ ofTenant: 0, ofAddress: QUEUE.perAddress }, false)).toContain('from this address');
  expect(whyFull({ ofTenant: QUEUE.perTenant, ofAddress: 0 }, false)).toMatch(/^1000 agents wait already/);
});

it('bounds invited agents by their tenant alone: a whole fleet may stand behind one address', () => {
  expect(whyFull({ ofTenant: QUEUE.perTenant - 1, ofAddress: QUEUE.perTenant - 1 }, true)).toBeNull();
  expect(whyFull({ ofTenant: QUEUE.perTenant, ofAddress: 1 }, true)).toMatch(/^1000 agents wait already/);
});
