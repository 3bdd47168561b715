import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DynamicTable } from './dynamic-table.js';
import { fieldBytes, type HeaderField } from './header-field.js';

const field = (value: string): HeaderField => ['x', value];

it('counts from the newest', () => {
  const table = new DynamicTable(100);
  table.insert(field('1'));
  table.insert(field('2'));
  expect([table.at(0), table.at(1), table.at(2), table.at(1e9)]).toEqual([
    field('2'),
    field('1'),
    undefined,
    undefined,
  ]);
});

it('is emptied by a field larger than itself', () => {
  const table = new DynamicTable(40);
  table.insert(field('1234567'));
  expect(table.bytes).toBe(40);
  table.insert(field('12345678'));
  expect([table.at(0), table.bytes]).toEqual([undefined, 0]);
});

type Step = { readonly insert: number } | { readonly resize: number } | 'clear';

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: fc.record({ insert: fc.integer({ min: 0, max: 120 }) }) },
    { weight: 2, arbitrary: fc.record({ resize: fc.integer({ min: 0, max: 5000 }) }) },
    { weight: 1, arbitrary: fc.constant('clear' as const) },
  ),
  { maxLength: 500, size: 'max' },
);

it('holds what a plain list would, newest first', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      let capacity = 4096;
      let model: HeaderField[] = [];
      const size = (): number => model.reduce((sum, one) => sum + fieldBytes(one), 0);
      const table = new DynamicTable(capacity);
      for (const [at, step] of sequence.entries()) {
        if (step === 'clear') {
          table.clear();
          model = [];
        } else if ('resize' in step) {
          capacity = step.resize;
          table.resize(capacity);
        } else {
          const added = field(String(at).padEnd(step.insert, '.'));
          table.insert(added);
          model.unshift(added);
        }
        while (size() > capacity) model.pop();
        expect(table.bytes).toBe(size());
      }
      expect([...model.keys(), model.length].map((place) => table.at(place))).toEqual([...model, undefined]);
    }),
    { numRuns: 50 },
  );
});
