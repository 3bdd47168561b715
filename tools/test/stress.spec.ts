import { expect, it } from 'vitest';
import { longestStopMs } from './stress.js';

it('stops for a quarter of the shortest deadline that a file names, and never long', () => {
  expect(longestStopMs('')).toBe(250);
  expect(longestStopMs('const PATIENCE = { timeoutMs: 30_000 };')).toBe(250);
  expect(longestStopMs('const a = { timeoutMs: 30_000, graceMs: 400 };')).toBe(100);
  expect(longestStopMs('startLink({ keepaliveTimeoutMs: 80 })')).toBe(20);
  expect(longestStopMs('const leaseMs = 200;')).toBe(50);
  expect(longestStopMs('const nothingMs = 8; const timeoutMs = 0;')).toBe(250);
});
