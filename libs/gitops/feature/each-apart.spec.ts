import { expect, it } from 'vitest';
import { eachApart } from './each-apart.js';

it('one that fails keeps none of the others', async () => {
  const done: number[] = [];
  const failures: [number, unknown][] = [];
  const refused = new Error('refused');
  const work = async (item: number): Promise<void> => {
    if (item === 2) throw refused;
    done.push(item);
  };
  await eachApart([1, 2, 3], work, async (item, error) => void failures.push([item, error]));
  expect(done).toEqual([1, 3]);
  expect(failures).toEqual([[2, refused]]);
});
