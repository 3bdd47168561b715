import { describe, expect, it } from 'vitest';
import { selectAssignment } from './select-assignment.js';

const demo = { name: 'demo', labels: { env: 'prod', tier: 'a' } };
const byLabels = (name: string, labels: Record<string, string>, priority = 100) => ({
  name,
  selector: { labels },
  priority,
});

describe('the assignment of a cluster', () => {
  it('is one that selects it by its name or by all labels', () => {
    const others = [byLabels('x', { env: 'dev' }), { name: 'y', selector: { cluster: 'other' }, priority: 1_000 }];
    expect(selectAssignment(others, demo)).toBeUndefined();
    expect(selectAssignment([...others, byLabels('z', { env: 'prod' })], demo)?.name).toBe('z');
    expect(selectAssignment([byLabels('x', { env: 'prod', tier: 'b' })], demo)).toBeUndefined();
  });

  it('is the one with the highest priority, then the more exact one, then the first by name', () => {
    const named = { name: 'named', selector: { cluster: 'demo' }, priority: 100 };
    const wide = byLabels('wide', { env: 'prod' });
    const narrow = byLabels('narrow', { env: 'prod', tier: 'a' });
    expect(selectAssignment([wide, narrow], demo)?.name).toBe('narrow');
    expect(selectAssignment([wide, narrow, named], demo)?.name).toBe('named');
    expect(selectAssignment([named, byLabels('first', { env: 'prod' }, 101)], demo)?.name).toBe('first');
    expect(selectAssignment([byLabels('b', { env: 'prod' }), byLabels('a', { tier: 'a' })], demo)?.name).toBe('a');
  });
});
