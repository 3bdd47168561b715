import { expect, it } from 'vitest';
import {
  EnrolmentPlaceText,
  TextPlace,
  UuidPlace,
  comparePlaces,
  enrolmentPlaceText,
  placeText,
  readEnrolmentPlace,
  readPlace,
} from './place.js';

const id = '0b6f1f2e-4c0d-4f9e-9a53-6a1f3c1d7a10';
const atMs = 1_764_237_600_123;

it('is read as it was written', () => {
  for (const each of [id, 'made-by-hand']) expect(readPlace(placeText({ atMs, id: each }))).toEqual({ atMs, id: each });
  for (const invited of [true, false]) {
    const place = { invited, atMs, id };
    const text = enrolmentPlaceText(place);
    expect(readEnrolmentPlace(EnrolmentPlaceText.parse(text))).toEqual(place);
  }
  expect(UuidPlace.parse(placeText({ atMs, id }))).toBe(`${atMs}-${id}`);
  expect(TextPlace.parse(placeText({ atMs, id: 'made-by-hand' }))).toBe(`${atMs}-made-by-hand`);
});

it('is nothing else', () => {
  const texts = ['', id, `-${id}`, `x-${id}`, `${atMs}-`, `${atMs}-a b`, `${atMs}0-${id}`, `${atMs}-${'a'.repeat(65)}`];
  for (const schema of [UuidPlace, TextPlace, EnrolmentPlaceText])
    expect(texts.filter((text) => schema.safeParse(text).success)).toEqual([]);
  expect(UuidPlace.safeParse(`${atMs}-made-by-hand`).success).toBe(false);
  expect(EnrolmentPlaceText.safeParse(`${atMs}-${id}`).success).toBe(false);
});

it('goes by time, then by id', () => {
  const sorted = [
    { atMs: 9, id: 'z' },
    { atMs: 10, id: 'a' },
    { atMs: 10, id: 'b' },
    { atMs: 11, id: 'a' },
  ];
  expect([sorted[2]!, sorted[0]!, sorted[3]!, sorted[1]!].sort(comparePlaces)).toEqual(sorted);
  expect(comparePlaces(sorted[1]!, { ...sorted[1]! })).toBe(0);
});
