import { setImmediate as turn } from 'node:timers/promises';
import { PassThrough } from 'node:stream';
import { systemClock } from '@fairlead/clock';
import type { AuditEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import type { ApiRequest } from '../http/api-request.js';
import { auditEntry } from '../testing/audit-entry.js';
import { EXPORT_FORMATS, exportFormat } from './export-formats.js';
import { exportPieces } from './export.js';
import { LogEnds } from './log-ends.js';
import { OpenStreams } from './open-streams.js';
import { streamOf } from './send-stream.js';
import { StreamAccess } from './stream-access.js';
import { tailEvents } from './tail.js';

const PAGE = 2;
const never = new AbortController().signal;
const allowed = { check: async () => undefined };

/** A log of so many entries, whose pages are counted. */
function logOf(size: number, failsBehind = Infinity) {
  const log = {
    size,
    pages: 0,
    end: async () => log.size,
    page: async (after: number) => {
      log.pages += 1;
      if (after >= failsBehind) throw new FairleadError('UNAVAILABLE', 'the database is away');
      const numbers = Array.from({ length: Math.min(PAGE, log.size - after) }, (_, at) => after + 1 + at);
      return { entries: numbers.map(auditEntry), next: after + numbers.length, size: log.size };
    },
  };
  return log;
}

const numbersOf = (text: string): number[] => [...text.matchAll(/"number":(\d+)/g)].map(([, number]) => Number(number));

const HEADING =
  'number,at,recordedAt,kind,source,user,cluster,action,decision,id,passage,verb,resource,namespace,status,address,container,command,body\n';

describe('an export', () => {
  const given = { access: allowed, format: EXPORT_FORMATS.ndjson, signal: never };

  it('has what there was when it began, and says how much that is', async () => {
    const log = logOf(5);
    const pieces: string[] = [];
    for await (const piece of exportPieces(1, { ...given, log })) {
      pieces.push(piece);
      log.size = 9;
    }
    expect(numbersOf(pieces.join(''))).toEqual([2, 3, 4, 5]);
    expect(JSON.parse(pieces.at(-1) ?? '')).toEqual({ complete: true, count: 4, through: 5 });
  });

  it('has no trailer where a page fails, where access ends, or where nobody reads', async () => {
    const [gone, refused] = [new AbortController(), new FairleadError('FORBIDDEN', 'no longer')];
    gone.abort(new Error('gone'));
    const revoked = {
      check: async () => {
        throw refused;
      },
    };
    for (const broken of [{ log: logOf(9, 4) }, { access: revoked }, { signal: gone.signal }]) {
      const pieces: string[] = [];
      const all = async (): Promise<void> => {
        for await (const piece of exportPieces(0, { ...given, log: logOf(9), ...broken })) pieces.push(piece);
      };
      await expect(all()).rejects.toThrow(/is away|no longer|gone/);
      expect(pieces.length).toBeGreaterThan(0);
      expect(pieces.join('')).not.toContain('complete');
    }
  });

  it('reads no page before the one before was taken', async () => {
    const log = logOf(1_000);
    const reply = { raw: new PassThrough() } as unknown as FastifyReply;
    const ends = { draining: never, onEnd: () => undefined };
    const stream = await streamOf({} as ApiRequest, reply, ends, (signal) =>
      exportPieces(0, { ...given, log, signal }),
    );
    // Somebody who takes what is there, and no more.
    stream.on('readable', () => undefined);
    for (let turns = 0; turns < 100; turns += 1) await turn();
    expect(log.pages).toBeLessThan(4);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(numbersOf(Buffer.concat(chunks).toString())).toHaveLength(1_000);
  });

  it('as CSV has what went through a door in columns of its own, which are no formulas either', () => {
    const resource = { verb: 'create', resource: 'pods', subresource: 'exec', namespace: 'shop', name: 'cart-0' };
    const stream = { container: 'app', command: ['=1+1', '-c'] };
    const passage = {
      id: 'p-1',
      kind: 'exec',
      status: 403,
      address: '192.0.2.7',
      resource,
      url: null,
      target: '',
      stream,
    };
    const [row = ''] = EXPORT_FORMATS.csv.rows([{ ...auditEntry(1), body: passage }]).split('\n');
    expect(row).toContain(`,p-1,exec,create,pods/cart-0/exec,shop,403,192.0.2.7,app,'=1+1 -c,"{""id"":""p-1"",`);
    const data = {
      kind: 'attach',
      status: 200,
      actor: { address: '::1' },
      object: 'pods/a',
      namespace: 'b',
      command: [],
    };
    const [event = ''] = EXPORT_FORMATS.csv.rows([{ ...auditEntry(2), body: { data } }]).split('\n');
    expect(event).toContain(',attach,,pods/a,b,200,::1,,,');
    const nonsense = { kind: 7, resource: 'x', stream: { command: 'ls' }, data: [], status: 'y' };
    expect(EXPORT_FORMATS.csv.rows([{ ...auditEntry(3), body: nonsense }])).toContain(',,,,,,,,,,"{""kind"":7');
  });

  it('as CSV is a table whose every cell a spreadsheet shows as it is', () => {
    const odd: AuditEntry = {
      ...auditEntry(7),
      user: '=HYPERLINK("http://x")',
      cluster: '+1',
      action: 'a\n@b',
      body: null,
    };
    const { csv } = EXPORT_FORMATS;
    expect(csv.header).toBe(HEADING);
    expect(csv.rows([odd])).toBe(
      `7,${odd.at},${odd.recordedAt},event,access,"'=HYPERLINK(""http://x"")",'+1,a @b,,,,,,,,,,,\n`,
    );
    expect(csv.rows([auditEntry(1)]).trimEnd()).toMatch(/,"\{""type"":""dev\.fairlead\.grant\.created\.v1""\}"$/);
    expect(csv.trailer({ complete: true, count: 1, through: 9 })).toBe(`complete,1,9${','.repeat(16)}\n`);
  });

  it.each([
    [undefined, undefined, 'ndjson'],
    [undefined, '*/*', 'ndjson'],
    [undefined, 'text/html, text/csv;q=0.9, application/x-ndjson', 'csv'],
    ['ndjson', 'text/csv', 'ndjson'],
  ] as const)('is in the format that is asked for: %s, %s', (named, accept, format) => {
    expect(exportFormat(named, accept)).toBe(EXPORT_FORMATS[format]);
  });
});

describe('a tail', () => {
  it('begins where it is told, says when it is at the end, and goes on with what comes', async () => {
    const log = logOf(3);
    const untilMore = async (): Promise<void> => void (log.size += 1);
    const events = tailEvents(0, { log, access: allowed, untilMore, signal: never });
    expect((await events.next()).value).toMatch(
      /^retry: 2000\n\nid: 1\ndata: \{"number":1,.*\}\n\nid: 2\ndata: .*\n\n$/,
    );
    expect((await events.next()).value).toMatch(/^id: 3\ndata: .*\n\n: at 3\nid: 3\n\n$/);
    expect((await events.next()).value).toMatch(/^id: 4\ndata: .*\n\n: at 4\nid: 4\n\n$/);
    const later = tailEvents(undefined, { log, access: allowed, untilMore, signal: never });
    expect((await later.next()).value).toBe('retry: 2000\n\n: at 4\nid: 4\n\n');
  });

  it('fails at first, and ends with the reason later', async () => {
    const untilMore = async (): Promise<void> => undefined;
    const tailing = { access: allowed, untilMore, signal: never };
    await expect(tailEvents(5, { ...tailing, log: logOf(9, 0) }).next()).rejects.toThrow('is away');
    const access = {
      check: async () => {
        throw new FairleadError('UNAUTHENTICATED', 'the token was revoked');
      },
    };
    const events = tailEvents(0, { ...tailing, log: logOf(1), access });
    await events.next();
    expect((await events.next()).value).toBe(
      'event: end\ndata: {"code":"UNAUTHENTICATED","detail":"the token was revoked","retryable":false}\n\n',
    );
    expect((await events.next()).done).toBe(true);
  });
});

it('access is asked for again when it is time, and a stream does without an answer for a minute at most', async () => {
  let [nowMs, asked] = [0, 0];
  let error: Error | undefined;
  const access = new StreamAccess({ monotonicMs: () => nowMs }, 5_000, async () => {
    asked += 1;
    if (error) throw error;
  });
  const at = (ms: number): Promise<void> => {
    nowMs = ms;
    return access.check();
  };
  await at(4_999);
  expect(asked).toBe(0);
  await at(5_000);
  await at(9_999);
  expect(asked).toBe(1);
  error = new FairleadError('UNAVAILABLE', 'access is away');
  await at(65_000);
  await expect(at(65_001)).rejects.toThrow('access is away');
  error = new FairleadError('FORBIDDEN', 'no longer');
  nowMs = 0;
  const refused = new StreamAccess({ monotonicMs: () => nowMs }, 5_000, async () => Promise.reject(error));
  nowMs = 5_000;
  await expect(refused.check()).rejects.toThrow('no longer');
});

it('there are as many streams as there may be, and none once the process ends', () => {
  const streams = new OpenStreams();
  const someone = (tokenId: string, tenantId = 'shop') => ({ tenantId, tokenId }) as Parameters<OpenStreams['open']>[1];
  const open = Array.from({ length: 4 }, () => streams.open('export', someone('a')));
  expect(() => streams.open('export', someone('b'))).toThrow(/too many/);
  expect(streams.open('tail', someone('a')).draining.aborted).toBe(false);
  streams.open('export', someone('c', 'other'));
  open[0]?.close();
  const next = streams.open('export', someone('b'));
  streams.onModuleDestroy();
  expect(next.draining.aborted).toBe(true);
  expect(() => streams.open('tail', someone('a'))).toThrow('shutting down');
});

it('one question tells all who wait where a log ends', async () => {
  let [asked, size] = [0, 3];
  const read = async (): Promise<never> => {
    asked += 1;
    return { size } as never;
  };
  const ends = new LogEnds({ read }, systemClock, 1);
  const [gone, woken] = [new AbortController(), [] as number[]];
  const waiting = [3, 3, 4].map((at) => ends.wait('shop', at, never).then(() => woken.push(at)));
  const left = ends.wait('shop', 9, gone.signal);
  await expect.poll(() => asked, { timeout: 30_000 }).toBeGreaterThan(2);
  expect(woken).toEqual([]);
  size = 4;
  await Promise.all(waiting.slice(0, 2));
  expect(woken).toEqual([3, 3]);
  size = 5;
  await Promise.all(waiting);
  gone.abort();
  await left;
  const before = asked;
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(asked - before).toBeLessThan(3);
});
