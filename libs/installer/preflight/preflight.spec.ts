import { systemClock, type Clock } from '@fairlead/clock';
import { beforeEach, expect, it } from 'vitest';
import type { Seen } from './dial-host.js';
import type { NeededHost } from './needed-hosts.js';
import { Preflight, type Occasion, type PreflightOptions } from './preflight.js';

const registry = (host: string, port = 443): NeededHost => ({ kind: 'registry', host, port });
const git: NeededHost = { kind: 'git', host: 'git.example.com', port: 22 };
const HEALTHY: Occasion = { spec: 'one', healthy: true };
const ILL: Occasion = { ...HEALTHY, healthy: false };
const MINUTE_MS = 60_000;
const { signal } = new AbortController();

let nowMs = 0;
let dialled: string[] = [];
let answer: Seen = { code: 'REACHABLE', message: '' };
const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };

function preflight(options: Partial<PreflightOptions> = {}): Preflight {
  return new Preflight({ ports: [443], behindProxy: false, ...options }, clock, ({ host }) => {
    dialled.push(host);
    return Promise.resolve(answer);
  });
}

/** Asks twice: the first call begins an observation if one is due, and the second tells what it found. */
async function observe(of: Preflight, hosts: readonly NeededHost[], occasion: Occasion) {
  of.observe(hosts, occasion, signal);
  await new Promise(setImmediate);
  return of.observe(hosts, occasion, signal);
}

beforeEach(() => {
  nowMs = 0;
  dialled = [];
  answer = { code: 'REACHABLE', message: '' };
});

it('looks once while all is well, and again for another spec or other hosts', async () => {
  const one = preflight();
  expect(one.observe([registry('a')], HEALTHY, signal)).toBeNull();
  expect(await observe(one, [registry('a')], HEALTHY)).toMatchObject({ hosts: [{ host: 'a', code: 'REACHABLE' }] });
  nowMs = 24 * 60 * MINUTE_MS;
  await observe(one, [registry('a')], HEALTHY);
  expect(dialled).toEqual(['a']);
  await observe(one, [registry('a')], { ...HEALTHY, spec: 'two' });
  expect(one.observe([registry('b')], HEALTHY, signal)).toBeNull();
  await observe(one, [registry('b')], HEALTHY);
  expect(dialled).toEqual(['a', 'a', 'b']);
});

it('looks again after some minutes while it is not healthy, and seldom while it is though a host is away', async () => {
  const one = preflight();
  await observe(one, [registry('a')], ILL);
  nowMs += 3 * MINUTE_MS;
  await observe(one, [registry('a')], ILL);
  expect(dialled).toHaveLength(1);
  answer = { code: 'UNREACHABLE', message: 'no connection' };
  nowMs += 4 * MINUTE_MS;
  expect(await observe(one, [registry('a')], ILL)).toMatchObject({ hosts: [answer] });
  nowMs += 10 * MINUTE_MS;
  await observe(one, [registry('a')], HEALTHY);
  expect(dialled).toHaveLength(2);
  nowMs += 90 * MINUTE_MS;
  await observe(one, [registry('a')], HEALTHY);
  expect(dialled).toHaveLength(3);
});

it('does not try what its own network policy forbids, and no registry where there is a proxy', async () => {
  const hosts = [git, registry('a', 5_000), registry('b')];
  expect((await observe(preflight(), hosts, HEALTHY))?.hosts.map(({ host, code }) => [host, code])).toEqual([
    ['git.example.com:22', 'NOT_TRIED'],
    ['a:5000', 'NOT_TRIED'],
    ['b', 'REACHABLE'],
  ]);
  expect(dialled).toEqual(['b']);
  const proxied = await observe(preflight({ ports: [22, 443], behindProxy: true }), hosts, HEALTHY);
  expect(proxied?.hosts.map(({ code }) => code)).toEqual(['REACHABLE', 'NOT_TRIED', 'NOT_TRIED']);
  expect(proxied?.hosts[2]?.message).toBe('not tried: a proxy is set');
});

it('has a few dials under way at once, and one observation', async () => {
  let under = 0;
  let most = 0;
  const one = new Preflight({ ports: [443], behindProxy: false }, clock, async () => {
    most = Math.max(most, (under += 1));
    await new Promise(setImmediate);
    under -= 1;
    return answer;
  });
  const hosts = Array.from({ length: 16 }, (_, at) => registry(`r${at}`));
  await expect.poll(() => one.observe(hosts, HEALTHY, signal)?.hosts.length, { interval: 5, timeout: 20_000 }).toBe(16);
  expect(most).toBe(4);
});

it('tells nothing of an observation that was ended', async () => {
  const one = preflight();
  const stop = new AbortController();
  one.observe([registry('a')], HEALTHY, stop.signal);
  stop.abort();
  await new Promise(setImmediate);
  expect(one.observe([registry('a')], HEALTHY, stop.signal)).toBeNull();
});
