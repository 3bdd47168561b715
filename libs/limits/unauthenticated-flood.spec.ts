import { expect, it } from 'vitest';
import { UnauthenticatedFlood, noteUnauthenticatedEnd } from './unauthenticated-flood.js';

function come(count: number): void {
  for (let at = 0; at < count; at += 1) noteUnauthenticatedEnd();
}

it('is a flood while five unauthenticated connections end each second, and for a minute and a half', () => {
  let nowMs = 1_000;
  const flood = new UnauthenticatedFlood(() => nowMs);
  const isOnAfter = (ms: number, ended: number): boolean => {
    nowMs += ms;
    come(ended);
    return flood.isOn();
  };
  expect(isOnAfter(5_000, 24)).toBe(false);
  expect(isOnAfter(5_000, 25)).toBe(true);
  expect(isOnAfter(50_000, 0)).toBe(true);
  expect(isOnAfter(40_000, 0)).toBe(true);
  expect(isOnAfter(1, 0)).toBe(false);
  expect(isOnAfter(60_000, 200)).toBe(false);
  expect(isOnAfter(1, 4)).toBe(false);
  expect(isOnAfter(1, 1)).toBe(true);
  expect(isOnAfter(100_000, 0)).toBe(false);
  expect(isOnAfter(1_000, 200)).toBe(true);
});

it('is none by what came before anybody asked', () => {
  come(1_000);
  let nowMs = 0;
  const flood = new UnauthenticatedFlood(() => nowMs);
  nowMs += 5_000;
  expect(flood.isOn()).toBe(false);
});
