import { expect, it } from 'vitest';
import { QUEUE, whyFull } from './adoption-queue.js';

it('takes requests up to what one address and one tenant may have waiting', () => {
  expect(whyFull({ ofTenant: QUEUE.perTenant - 1, ofAddress: QUEUE.perAddress - 1 })).toBeNull();
  expect(whyFull({ ofTenant: 0, ofAddress: QUEUE.perAddress })).toContain('from this address');
  expect(whyFull({ ofTenant: QUEUE.perTenant, ofAddress: 0 })).toMatch(/^1000 agents wait already/);
});
