import { Agent } from 'undici';
import { FairleadError } from '@fairlead/errors';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startScriptedApi, type ScriptedApi } from './testing/scripted-api.js';

/** Lines of one address: so many at once, then two a second. */
const BURST = 100;
const FLOOD = 300;
/** No more than these since then, however slow the machine is. */
const mostSince = (startedMs: number): number => BURST + 2 * Math.ceil((performance.now() - startedMs) / 1_000) + 1;

let api: ScriptedApi;
let dispatcher: Agent;

beforeAll(async () => {
  api = await startScriptedApi();
  dispatcher = new Agent({ connect: { ca: api.caPem }, connections: 8 });
});
afterAll(async () => {
  await dispatcher?.close();
  await api?.[Symbol.asyncDispose]();
});

interface Line {
  readonly event: string;
  readonly user?: string;
  readonly code?: string;
  readonly suppressed?: number;
}

const told = (event: string): Line[] =>
  api.logLines.map((line) => JSON.parse(line) as Line).filter((line) => line.event === event);
const suppressed = (lines: readonly Line[]): number => lines.reduce((sum, line) => sum + (line.suppressed ?? 0), 0);

async function ask(path: string, headers: Record<string, string> = {}): Promise<number> {
  const { origin } = new URL(api.url);
  const { statusCode, body } = await dispatcher.request({ origin, path, method: 'GET', headers });
  await body.dump();
  return statusCode;
}

it('has few lines of requests without a token, says how many are missing, and one of each request that was let in', async () => {
  const startedMs = performance.now();
  const authorization = `Bearer ${api.script.token}`;
  for (let asked = 0; asked < FLOOD; asked += 10) {
    await Promise.all(Array.from({ length: 10 }, () => ask('/nothing/here')));
    expect(await ask('/v1/clusters', { authorization })).toBe(200);
  }
  const unauthenticated = (): Line[] => told('api.request').filter(({ user }) => user === undefined);
  expect(unauthenticated().length).toBeGreaterThanOrEqual(BURST);
  expect(unauthenticated().length).toBeLessThanOrEqual(mostSince(startedMs));
  expect(told('api.request').filter(({ user }) => user !== undefined)).toHaveLength(FLOOD / 10);
  let more = 0;
  await expect
    .poll(
      async () => {
        more += 1;
        await ask('/nothing/here');
        return unauthenticated().length + suppressed(unauthenticated()) >= FLOOD + more - 1;
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  expect(unauthenticated().length).toBeLessThanOrEqual(mostSince(startedMs));
});

it('has few stacks of a fault that somebody found a way to', async () => {
  const startedMs = performance.now();
  const authorization = `Bearer ${api.script.token}`;
  for (let asked = 0; asked < FLOOD; asked += 1) {
    api.script.nextFailure = new FairleadError('INTERNAL', 'a fault of ours');
    expect(await ask('/v1/clusters', { authorization })).toBe(500);
  }
  const failures = told('api.failed');
  expect(failures.length).toBeGreaterThanOrEqual(BURST);
  expect(failures.length).toBeLessThanOrEqual(mostSince(startedMs));
});
