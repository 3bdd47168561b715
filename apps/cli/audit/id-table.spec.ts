import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { IdTable } from './id-table.js';

it('holds ids with what is marked of each, however many there are', () => {
  const table = new IdTable(50_000);
  const ids = Array.from({ length: 50_000 }, () => randomUUID());
  for (const [at, id] of ids.entries()) {
    const { slot, isNew } = table.add(id);
    expect(isNew).toBe(true);
    table.setNumber(slot, at % 1_000);
    if (at % 3 === 0) table.mark(slot, 4);
  }
  for (const [at, id] of ids.entries()) {
    const slot = table.find(id) ?? -1;
    expect([table.idAt(slot), table.numberAt(slot), table.has(slot, 4)]).toEqual([id, at % 1_000, at % 3 === 0]);
  }
  expect(table.find(randomUUID())).toBeUndefined();
  expect([...table.slots()]).toHaveLength(50_000);
  expect(table.add(ids[7] ?? '').isNew).toBe(false);
  expect(() => table.add(randomUUID())).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
});

it('tells ids apart that begin or end alike', () => {
  const table = new IdTable(5_000);
  const hex = (at: number): string => at.toString(16).padStart(8, '0');
  const alike = Array.from({ length: 2_000 }, (_none, at) => [
    `${hex(at)}-0000-4000-8000-000000000000`,
    `00000000-0000-4000-8000-0000${hex(at)}`,
  ]).flat();
  for (const id of alike) table.add(id);
  expect([...table.slots()].map((slot) => table.idAt(slot)).sort()).toEqual([...new Set(alike)].sort());
});
