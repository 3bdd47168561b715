import { describe, expect, it } from 'vitest';
import { LabelSelector, parseLabelSelector, selectsLabels } from './label-selector.js';

const labels = { zone: 'eu', 'example.com/tier': 'a', empty: '' };

describe('a label selector', () => {
  it.each([
    ['zone=eu', true],
    ['zone==eu', true],
    ['zone = us', false],
    ['zone!=us', true],
    ['zone!=eu', false],
    ['stage!=test', true],
    ['stage=test', false],
    ['zone in (us, eu)', true],
    ['zone in (us)', false],
    ['zone notin (us,eu)', false],
    ['stage notin (test)', true],
    ['zone', true],
    ['stage', false],
    ['!stage', true],
    ['! zone', false],
    ['empty=', true],
    ['zone=', false],
    ['empty in (,a)', true],
    ['example.com/tier=a,zone in (eu,us),!stage', true],
    ['example.com/tier=a,zone in (eu,us),stage', false],
    ['constructor', false],
  ])('%s: %s', (text, selected) => {
    expect(LabelSelector.safeParse(text).success).toBe(true);
    expect(selectsLabels(parseLabelSelector(text), labels)).toBe(selected);
  });

  it.each([
    [''],
    ['zone=eu,'],
    ['zone=eu zone=us'],
    ['zone in eu'],
    ['zone in (eu'],
    ['zone>1'],
    ['zone < 1'],
    ['=eu'],
    ['zone=a=b'],
    ['-zone'],
    ['zone=eu/west'],
    [`${'a,'.repeat(16)}b`],
    [`zone in (${'a,'.repeat(32)}b)`],
    [`zone=${'a'.repeat(64)}`],
    ['a'.repeat(2_000)],
  ])('is not %j', (text) => {
    const { error } = LabelSelector.safeParse(text);
    expect(error?.issues).toHaveLength(text.length > 1_024 ? 2 : 1);
    expect(() => parseLabelSelector(text)).toThrow(RangeError);
  });
});
