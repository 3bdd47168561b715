import { expect, it } from 'vitest';
import { LiveCounter, Registry } from './index.js';

it('counts what grows at each scrape, and the rest at the end, once', async () => {
  const registry = new Registry();
  const counter = new LiveCounter({ name: 'bytes_total', help: 'x', label: 'direction', registry });
  const value = async (direction: string): Promise<number | undefined> =>
    (await registry.getSingleMetric('bytes_total')?.get())?.values.find(
      ({ labels }) => labels['direction'] === direction,
    )?.value;
  const [first, second] = [
    { up: 1, down: 0 },
    { up: 10, down: 5 },
  ];
  const done = counter.follow(() => first);
  counter.follow(() => second);
  expect([await value('up'), await value('down')]).toEqual([11, 5]);
  expect(await value('up')).toBe(11);
  first.up = 4;
  done();
  first.up = 100;
  done();
  expect([await value('up'), counter.size]).toEqual([14, 1]);
});
