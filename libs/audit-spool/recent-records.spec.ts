import { expect, it } from 'vitest';
import { Batch } from './batch.js';
import { RecentRecords } from './recent-records.js';
import { encodeLines } from './record-line.js';

const NO_LIMIT = { records: 1_000, bytes: 1_000_000 };

/** Records of one number each, from this one on. */
function add(recent: RecentRecords, firstSeq: number, count: number): void {
  const records = Array.from({ length: count }, (_none, at) => String(firstSeq + at));
  const encodable = records.map((json) => ({ json, jsonBytes: json.length }));
  recent.add(firstSeq, encodeLines(encodable, firstSeq, 0));
}

function read(recent: RecentRecords, firstSeq: number, lastSeq = Infinity, limits = NO_LIMIT): string[] {
  const batch = new Batch(firstSeq, limits);
  recent.addTo(batch, lastSeq);
  return batch.records.map(String);
}

it('gives what follows a number, over several groups, up to the last that is durable and to the limits of a batch', () => {
  const recent = new RecentRecords(10_000);
  add(recent, 1, 3);
  add(recent, 4, 3);
  expect(read(recent, 1)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(read(recent, 3, 5)).toEqual(['3', '4', '5']);
  expect(read(recent, 3, 5, { records: 2, bytes: 100 })).toEqual(['3', '4']);
  expect(read(recent, 7)).toEqual([]);
});

it('keeps the newest as far as there is room, and nothing that was given up', () => {
  const recent = new RecentRecords(40);
  add(recent, 1, 2);
  add(recent, 3, 2);
  // A line of one digit is 13 bytes long.
  expect(read(recent, 1)).toEqual([]);
  expect(read(recent, 3)).toEqual(['3', '4']);
  recent.forgetUpTo(3);
  expect(read(recent, 4)).toEqual(['4']);
  recent.forgetUpTo(4);
  expect(read(recent, 4)).toEqual([]);
  add(recent, 5, 1);
  recent.clear();
  expect(read(recent, 5)).toEqual([]);
});
