import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, chmod, readFile, readdir, stat, statfs } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { systemClock } from '@fairlead/clock';
import { MAX_AUDIT_BATCH, auditSubject } from '@fairlead/contracts';
import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { startStack, type Stack } from '@fairlead/stack';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BenchError } from '../process/bench-error.js';
import { treeCpuSeconds } from '../process/tree-cpu.js';
import { metricAt } from '../systems/metrics.js';
import { runningPid } from '../systems/through-gateways.js';
import { QUESTIONS, type Question } from './questions.js';
import { recordOf } from './records.js';

export interface FillOptions {
  readonly rows: number;
  /** A folder for everything it keeps. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
}

/** Tables, indexes, what Postgres writes before it writes them, and the way there. */
const DISK_BYTES_PER_ROW = 3_000;
const DISK_BYTES_BESIDE = 2e9;
/** Whose spool it pretends to be. */
const GATEWAY = 'gateway-a';
/** Published and not in the log yet: the stream holds 192 MiB. */
const MOST_AHEAD = 40_000;
const AT_ONCE = 8;
const POLL_MS = 100;
const SAY_EVERY_MS = 5_000;
const STANDS_STILL_MS = 120_000;
const TRIES = 40;
const ANSWER_WITHIN_MS = 30_000;

/**
 * Fills a log by the way that gateways hand records on, as fast as the audit service takes them, and asks it what docs/audit.md asks, by the API. Throws BenchError
 * before anything starts if the disk has no room for it.
 */
export async function fillAndAsk({ rows, dir, say, signal }: FillOptions): Promise<Figure[]> {
  await requireRoom(dir, rows);
  await using owned = new AsyncDisposableStack();
  const state = join(dir, 'fairlead');
  await mkdir(state);
  await chmod(state, 0o711);
  const log = (event: { kind: string; text?: string }): void => {
    if (event.kind === 'progress' && event.text) say(event.text);
  };
  const stateDir = join(state, 'state');
  const options = { stateDir, basePort: 0, demo: false, restart: false, gateways: [GATEWAY], log, signal };
  const stack = owned.use(await startStack(options));
  // Its numbers are ours from now on.
  await stack.process(GATEWAY).stop();
  const beforeBytes = await databaseBytes(stack);
  const filled = await fill(stack, rows, say, signal);
  say('writing out what Postgres has in memory');
  // It writes out everything when it is stopped.
  await stack.process('postgres').restart();
  const bytes = (await databaseBytes(stack)) - beforeBytes;
  return [...filled, { what: 'bytes per entry', value: bytes / rows, unit: 'bytes' }, ...(await askAll(stack, say))];
}

async function requireRoom(dir: string, rows: number): Promise<void> {
  const { bavail, bsize } = await statfs(dir);
  const needed = rows * DISK_BYTES_PER_ROW + DISK_BYTES_BESIDE;
  const free = bavail * bsize;
  if (free >= needed) return;
  const gb = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  throw new BenchError(
    `a log of ${rows} entries needs ${gb(needed)} in ${dir}, and ${gb(free)} are free: ask for fewer (--rows)`,
  );
}

async function fill(stack: Stack, rows: number, say: FillOptions['say'], signal: AbortSignal): Promise<Figure[]> {
  const holder = { role: 'gateway', credential: GATEWAY } as const;
  const seedFile = join(stack.stateDir, 'secrets', `nats-${GATEWAY}.seed`);
  const { url, caFile } = stack.nats;
  const trust = caFile === undefined ? {} : { caFile };
  const nc = await connectNats({ ...holder, url, seedFile, ...trust, logger: silentLogger, signal });
  try {
    const cpu = (): Promise<number[]> =>
      Promise.all(['audit', 'postgres', 'nats'].map((name) => treeCpuSeconds(runningPid(stack.process(name)))));
    const [before, beganMs] = [await cpu(), systemClock.monotonicMs()];
    await publishAll(stack, nc, rows, say, signal);
    const [after, seconds] = [await cpu(), (systemClock.monotonicMs() - beganMs) / 1_000];
    const each = (at: number): number => (((after[at] ?? 0) - (before[at] ?? 0)) * 1e6) / rows;
    return [
      { what: 'entries taken', value: rows / seconds, unit: '1/s' },
      { what: 'of the audit service, for each', value: each(0), unit: 'core-µs' },
      { what: 'of Postgres, for each', value: each(1), unit: 'core-µs' },
      { what: 'of nats-server, for each', value: each(2), unit: 'core-µs' },
    ];
  } finally {
    await nc.close();
  }
}

async function publishAll(
  stack: Stack,
  nc: NatsConnection,
  rows: number,
  say: FillOptions['say'],
  signal: AbortSignal,
): Promise<void> {
  const epoch = randomBytes(16).toString('hex');
  const taken = (): Promise<number> =>
    metricAt(stack.healthUrl('audit'), 'fairlead_audit_entries_total', 'kind="passage"');
  const first = await taken();
  let [published, saidMs] = [0, 0];
  const caughtUp = async (ahead: number): Promise<void> => {
    let [last, movedMs] = [0, systemClock.monotonicMs()];
    for (;;) {
      const done = (await taken()) - first;
      const nowMs = systemClock.monotonicMs();
      if (done !== last) [last, movedMs] = [done, nowMs];
      if (nowMs - saidMs > SAY_EVERY_MS) {
        saidMs = nowMs;
        say(`${done} of ${rows} entries`);
      }
      if (published - done <= ahead) return;
      if (nowMs - movedMs > STANDS_STILL_MS) throw new BenchError(`the audit service stands still at ${done} entries`);
      await systemClock.sleep(POLL_MS, signal);
    }
  };
  while (published < rows) {
    const from = published;
    const batches = Array.from({ length: AT_ONCE }, (_none, at) => from + at * MAX_AUDIT_BATCH).filter(
      (at) => at < rows,
    );
    await Promise.all(batches.map((at) => publish(nc, epoch, at, Math.min(MAX_AUDIT_BATCH, rows - at), rows)));
    published = Math.min(rows, from + AT_ONCE * MAX_AUDIT_BATCH);
    await caughtUp(MOST_AHEAD);
  }
  await caughtUp(0);
}

async function publish(nc: NatsConnection, epoch: string, done: number, count: number, of: number): Promise<void> {
  const records = Array.from({ length: count }, (_none, at) => recordOf(done + at, of));
  const body = JSON.stringify({ epoch, firstSeq: done + 1, records });
  await jetstream(nc).publish(auditSubject(GATEWAY), body, { msgID: randomUUID(), timeout: 30_000 });
}

/** Of the tables and their indexes. */
async function databaseBytes({ stateDir }: Stack): Promise<number> {
  const base = join(stateDir, 'postgres', 'pgdata', 'base');
  const files = await readdir(base, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map((file) =>
        stat(join(file.parentPath, file.name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function askAll(stack: Stack, say: FillOptions['say']): Promise<Figure[]> {
  const [token, ca] = await Promise.all(
    [stack.api.adminTokenFile, stack.api.caFile].map((file) => readFile(file, 'utf8')),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const ask = (path: string): Promise<Buffer> => answerOf(`${stack.api.url}${path}`, agent, token?.trim() ?? '');
  try {
    const { size } = JSON.parse((await untilAnswered(() => ask('/v1/audit/feed'))).toString()) as { size: number };
    const figures: Figure[] = [];
    for (const question of QUESTIONS) {
      say(question.what);
      figures.push({ what: `p95: ${question.what}`, value: await p95Of(question, size, ask), unit: 'ms' });
    }
    return figures;
  } finally {
    agent.destroy();
  }
}

async function p95Of({ path }: Question, size: number, ask: (path: string) => Promise<Buffer>): Promise<number> {
  const times: number[] = [];
  for (let nth = 0; nth < TRIES; nth += 1) {
    const beganMs = performance.now();
    await ask(path(size));
    times.push(performance.now() - beganMs);
  }
  return times.toSorted((one, other) => one - other)[Math.floor(TRIES * 0.95)] ?? Number.NaN;
}

/** Postgres was started anew: services find that out when they ask it. */
async function untilAnswered(ask: () => Promise<Buffer>): Promise<Buffer> {
  const until = systemClock.monotonicMs() + STANDS_STILL_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (systemClock.monotonicMs() > until) throw error;
      await systemClock.sleep(POLL_MS);
    }
  }
}

async function answerOf(url: string, agent: Agent, token: string): Promise<Buffer> {
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
  const asking = request(url, { agent, signal, headers: { authorization: `Bearer ${token}` } });
  asking.end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  const body = await buffer(answer);
  if (answer.statusCode === 200) return body;
  throw new BenchError(`${new URL(url).pathname}: ${answer.statusCode} ${body.toString().slice(0, 300)}`);
}
