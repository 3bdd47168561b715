import { once } from 'node:events';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { startScriptedApi, type ScriptedApi } from '@fairlead/api/testing';
import { auditFixture, newEpoch, type AuditFixture } from '@fairlead/audit/testing';
import { passage, passages } from '@fairlead/contracts/testing';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const PATIENCE = { timeoutMs: 60_000 };

let audit: AuditFixture;
let running: AsyncDisposable;
let api: ScriptedApi;
let epoch: string;
let nextSeq: number;

beforeAll(async () => {
  audit = await auditFixture();
  running = await audit.start();
  api = await startScriptedApi({ nats: audit.nats, pace: { heartbeatMs: 200, checkEveryMs: 200, lookEveryMs: 50 } });
}, 120_000);
afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
  await running?.[Symbol.asyncDispose]();
  await audit?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await audit.empty();
  [epoch, nextSeq] = [newEpoch(), 1];
});

async function record(...records: ReturnType<typeof passages>): Promise<void> {
  await audit.publish({ epoch, firstSeq: nextSeq, records });
  nextSeq += records.length;
}
const untilTaken = () => eventually(async () => expect(await audit.waiting()).toBe(0), PATIENCE);

async function open(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const authorization = `Bearer ${api.script.token}`;
  const asking = request(`${api.url}${path}`, { ca: api.caPem, agent: false, headers: { ...headers, authorization } });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return answer.setEncoding('utf8');
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of answer) text += String(piece);
  return text;
}

/** What a listener has heard so far. */
function listener(answer: IncomingMessage): { readonly heard: string; readonly ended: boolean } {
  const state = { heard: '', ended: false };
  answer.on('data', (piece: string) => (state.heard += piece));
  answer.once('close', () => (state.ended = true));
  return state;
}
const idsIn = (text: string): number[] => [...text.matchAll(/^id: (\d+)\ndata: /gm)].map(([, id]) => Number(id));

describe('a tail', () => {
  it('brings what comes, goes on behind the last id, and ends when its caller’s access does', async () => {
    await record(...passages(3));
    await untilTaken();
    const answer = await open('/v1/audit/tail');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/event-stream']);
    const first = listener(answer);
    await expect.poll(() => first.heard, { timeout: 60_000 }).toMatch(/^: at 3\nid: 3\n\n/m);
    await record(...passages(2));
    await expect.poll(() => idsIn(first.heard), { timeout: 60_000 }).toEqual([4, 5]);
    await expect.poll(() => first.heard.split(': at 5').length, { timeout: 60_000 }).toBeGreaterThan(2);
    answer.destroy();
    const resumed = listener(await open('/v1/audit/tail?after=5', { 'last-event-id': '4' }));
    const filtered = listener(await open('/v1/audit/tail?after=0&cluster=other'));
    await expect.poll(() => idsIn(resumed.heard), { timeout: 60_000 }).toEqual([5]);
    await record(passage({ cluster: 'other' }));
    await expect.poll(() => idsIn(filtered.heard), { timeout: 60_000 }).toEqual([6]);
    api.script.revoked = true;
    try {
      await expect.poll(() => [resumed.ended, filtered.ended], { timeout: 60_000 }).toEqual([true, true]);
      expect(resumed.heard).toMatch(/event: end\ndata: \{"code":"UNAUTHENTICATED",.*"retryable":false\}\n\n$/);
    } finally {
      api.script.revoked = false;
    }
  }, 120_000);
});

describe('an export', () => {
  it('has all, in both formats, and says so', async () => {
    for (let at = 0; at < 5; at += 1) await record(...passages(200));
    await record(passage({ cluster: '=1+1' }));
    await untilTaken();
    const lines = (await textOf(await open('/v1/audit/export'))).trimEnd().split('\n');
    expect(JSON.parse(lines.pop() ?? '')).toEqual({ complete: true, count: 1_001, through: 1_001 });
    const numbers = lines.map((line) => (JSON.parse(line) as { number: number }).number);
    expect(numbers).toEqual(Array.from({ length: 1_001 }, (_, at) => at + 1));
    const csv = await open('/v1/audit/export?after=999', { accept: 'text/csv' });
    expect(csv.headers['content-type']).toContain('text/csv');
    const rows = (await textOf(csv)).trimEnd().split('\n');
    expect(rows.map((row) => row.split(',')[0])).toEqual(['number', '1000', '1001', 'complete']);
    expect(rows[2]).toContain(",'=1+1,");
    const none = await textOf(await open('/v1/audit/export?format=ndjson&cluster=nowhere'));
    expect(JSON.parse(none)).toEqual({ complete: true, count: 0, through: 1_001 });
  }, 120_000);
});

it('streams are refused with a problem for what cannot be asked, and end when the process does', async () => {
  const odd = await open('/v1/audit/tail?text=--');
  expect([odd.statusCode, await textOf(odd)]).toEqual([400, expect.stringContaining('at least one word')]);
  const tail = listener(await open('/v1/audit/tail'));
  await expect.poll(() => tail.heard, { timeout: 60_000 }).toContain(': at ');
  await api[Symbol.asyncDispose]();
  await expect.poll(() => tail.ended, { timeout: 60_000 }).toBe(true);
  expect(tail.heard).toMatch(/event: end\ndata: \{"code":"DRAINING",.*"retryable":true\}\n\n$/);
}, 120_000);
