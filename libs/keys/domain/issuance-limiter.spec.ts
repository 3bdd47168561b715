import { expect, it } from 'vitest';
import { IssuanceLimiter } from './issuance-limiter.js';

const refused = expect.objectContaining({ code: 'RATE_LIMITED' });

it('lets certificates of 10 s be renewed at two thirds of their life for ever, and no faster for long', () => {
  const limiter = new IssuanceLimiter();
  for (let round = 0; round < 1_000; round += 1) limiter.issue('cluster', (round * 20_000) / 3);
  const atMs = 10_000_000;
  for (let round = 0; round < 10; round += 1) limiter.issue('cluster', atMs);
  expect(() => limiter.issue('cluster', atMs)).toThrow(refused);
  expect(() => limiter.issue('cluster', atMs + 4_999)).toThrow(refused);
  limiter.issue('cluster', atMs + 5_000);
  limiter.issue('another', atMs);
});

it('counts questions by the certificate that is shown, and by the gateway: none uses up what another one has', () => {
  const limiter = new IssuanceLimiter();
  for (let round = 0; round < 10; round += 1) limiter.admit('gateway-a', 'old', 0);
  expect(() => limiter.admit('gateway-a', 'old', 0)).toThrow(refused);
  limiter.admit('gateway-a', 'current', 0);
  limiter.admit('gateway-b', 'old', 0);
  limiter.issue('cluster', 0);
});

it('remembers the latest 10,000', () => {
  const limiter = new IssuanceLimiter();
  for (let round = 0; round < 10; round += 1) limiter.admit('gateway-a', 'first', 0);
  for (let other = 0; other < 9_999; other += 1) limiter.admit('gateway-a', `${other}`, 0);
  expect(() => limiter.admit('gateway-a', 'first', 0)).toThrow(refused);
  for (let other = 0; other < 10_000; other += 1) limiter.admit('gateway-a', `${other}`, 0);
  limiter.admit('gateway-a', 'first', 0);
});

it('answers a token that is shown again some times, and then rarely', () => {
  const limiter = new IssuanceLimiter();
  for (let round = 0; round < 20; round += 1) limiter.enrol('cluster', 0);
  expect(() => limiter.enrol('cluster', 29_999)).toThrow(refused);
  limiter.enrol('cluster', 30_001);
  limiter.enrol('another', 0);
  limiter.issue('cluster', 0);
});
