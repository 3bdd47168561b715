import { describe, expect, it } from 'vitest';
import { incredibleRevision, highestSeen } from './next-revision.js';

describe('the revision that an installer says it has seen', () => {
  it('counts if it is higher, as after a restored backup', () => {
    expect(highestSeen(7, 5)).toBe(7);
    expect(highestSeen(7, 9)).toBe(9);
    expect(highestSeen(0, 1_000)).toBe(1_000);
    expect(incredibleRevision(7, 1_007)).toBeNull();
  });

  it('is not believed if it cannot have been signed: numbers would end', () => {
    expect(highestSeen(7, 1_008)).toBe(7);
    expect(highestSeen(7, 2 ** 48)).toBe(7);
    expect(incredibleRevision(7, 2 ** 48)).toContain('reports revision 281474976710656');
  });
});
