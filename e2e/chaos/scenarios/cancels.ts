import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { eventually } from '@fairlead/testing';
import { payload } from '../../support/payload.js';
import { runAll } from '../../support/pool.js';
import { usageOf } from '../../support/proc.js';
import { pidOf, sessionsAt } from '../../support/replicas.js';
import type { Way } from '../../support/transfers.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica, World } from '../world.js';
import { requireQuiet } from './quiet.js';

const AT_ONCE = 16;
const STEP_TIMEOUT_MS = 20_000;
const SETTLE_MS = 60_000;
const BYTES = 2 ** 20;
/** Connections that come and go by themselves: health checks, the bus, a relay session. */
const MORE_FILES = 6;
/** V8 keeps pages that it once needed: what a leak of a kilobyte in each of 10,000 connections would exceed is more. */
const MORE_MB = 64;

/** How far a connection gets before its client gives it up. */
const STEPS: readonly (readonly [string, (client: Client, way: Way) => Promise<unknown>])[] = [
  ['in the TLS handshake', ({ raw }) => once(raw, 'connect')],
  ['in the request head', (client, way) => client.send(head(way).slice(0, 30))],
  ['after the head, at once', (client, way) => client.send(head(way))],
  ['after the head, before 200', (client, way) => client.send(head(way)).then(() => sleep(Math.random() * 8))],
  ['after 200', (client, way) => client.begin(way)],
  ['in the middle of a download', (client, way) => client.begin(way, 'send').then(() => client.read(BYTES / 4))],
  ['in the middle of an upload', (client, way) => client.begin(way, 'receive').then(() => client.write(BYTES / 4))],
  ['after half-close', (client, way) => client.begin(way, 'answer').then(() => client.halfClose())],
  [
    'after half-close, in the answer',
    (client, way) =>
      client
        .begin(way, 'answer')
        .then(() => client.halfClose())
        .then(() => client.read(BYTES / 4)),
  ],
];

/** Connections given up at every step, by an ordinary end and by a reset: nothing of them stays. */
export const cancels: Scenario = {
  letter: 'f',
  title: 'connections given up at every step',
  async run(world, { cancels: count }, findings) {
    // Without it the first ones would pay for code, pools and tickets that are made once.
    await giveUp(world, Math.max(STEPS.length * 6, Math.round(count / 10)));
    await eventually(() => requireQuiet(world), { timeoutMs: SETTLE_MS });
    const first = await measure(world, count, findings);
    if (first === null) return;
    // What is left of a connection is left of each: a session between two replicas that was made meanwhile is not.
    findings.figure('more than before, the first time', first);
    const again = await measure(world, count, findings);
    findings.must(again === null, again ?? '');
  },
};

/** Gives connections up and waits until nothing of them is left; resolves with what is left all the same, or with null. */
async function measure(world: World, count: number, findings: Findings): Promise<string | null> {
  const baseline = await holdings(world);
  const startedMs = performance.now();
  const reached = await giveUp(world, count, (given) => (findings.doing = `${given} of ${count} given up`));
  findings.figure(
    'connections given up',
    `${count}, ${Math.round((count * 1_000) / (performance.now() - startedMs))} a second`,
  );
  findings.must(reached === count, `only ${reached} of ${count} got as far as they were to`);
  const settlingMs = performance.now();
  const left = await eventually(() => requireBaseline(world, baseline), { timeoutMs: SETTLE_MS, intervalMs: 500 }).then(
    () => null,
    (error: Error) => error.message,
  );
  findings.figure('back at the baseline after', (performance.now() - settlingMs) / 1_000, 's');
  report(baseline, await holdings(world), findings);
  return left;
}

/** Gives connections up, every step in turn, through all doors; resolves with how many got as far as they were to. */
async function giveUp(world: World, count: number, onProgress?: (given: number) => void): Promise<number> {
  let reached = 0;
  await runAll(count, AT_ONCE, async (index) => {
    const [, step] = STEPS[index % STEPS.length] as (typeof STEPS)[number];
    const way = world.way(world.replicas[index % world.replicas.length] as Replica);
    const client = new Client(way);
    const late = setTimeout(() => client.raw.destroy(), STEP_TIMEOUT_MS);
    try {
      await step(client, way);
      reached += 1;
    } catch {
      // It is counted by not being counted.
    } finally {
      clearTimeout(late);
      if (index % 2 === 0) client.raw.destroy();
      else client.raw.resetAndDestroy();
      client.tls.destroy();
      onProgress?.(index + 1);
    }
  });
  return reached;
}

function head({ target, cluster }: Way): string {
  return `CONNECT ${target.address} HTTP/1.1\r\nHost: ${target.address}\r\nProxy-Authorization: Basic ${btoa(`${cluster}:`)}\r\n\r\n`;
}

/** A client with its TCP socket in hand, so that it can be gone in every way. */
class Client {
  readonly raw: Socket;
  readonly tls: TLSSocket;

  constructor({ connectUrl, client: { ca, key, cert } }: Way) {
    const { hostname: host, port } = new URL(connectUrl);
    this.raw = connectTcp({ host, port: Number(port), noDelay: true, allowHalfOpen: true });
    this.tls = connectTls({ socket: this.raw, ca, key, cert, host });
    for (const socket of [this.raw, this.tls]) socket.on('error', () => undefined);
  }

  async send(text: string): Promise<void> {
    await once(this.tls, 'secureConnect');
    await new Promise<void>((resolve, reject) => this.tls.write(text, (error) => (error ? reject(error) : resolve())));
  }

  /** Until 200, and the first line for the target. */
  async begin(way: Way, verb = 'echo'): Promise<void> {
    await this.send(head(way));
    const answer = await this.read(1);
    if (!answer.startsWith('HTTP/1.1 200')) throw new Error(answer);
    this.tls.write(`${verb} cancelled ${BYTES}\n`);
  }

  /** At least so many bytes; what they begin with. */
  async read(bytes: number): Promise<string> {
    let first = '';
    for (let seen = 0; seen < bytes;) {
      const chunk = this.tls.read() as Buffer | null;
      if (chunk) {
        first ||= chunk.toString('latin1', 0, 64);
        seen += chunk.length;
      } else if (this.tls.destroyed || this.tls.readableEnded) throw new Error('it ended');
      else await once(this.tls, 'readable');
    }
    return first;
  }

  async write(bytes: number): Promise<void> {
    for (const chunk of payload('cancelled', bytes)) {
      if (!this.tls.write(chunk)) await once(this.tls, 'drain');
    }
  }

  async halfClose(): Promise<void> {
    await new Promise<void>((resolve) => this.tls.end(resolve));
  }
}

interface Held {
  readonly files: number;
  readonly sockets: number;
  readonly megabytes: number;
}

/** What each process holds; for replicas also their links. */
interface Holdings {
  readonly links: number;
  readonly held: ReadonlyMap<string, Held>;
}

async function holdings(world: World): Promise<Holdings> {
  const links = (await Promise.all(world.replicas.map((replica) => sessionsAt(replica)))).flat().length;
  const pids = [
    ...world.replicas.map((each) => [each.name, pidOf(world.stack, each)] as const),
    ['agent', world.agent.pid] as const,
  ];
  const held = pids.map(([name, pid]) => {
    const usage = usageOf(pid);
    return [
      name,
      { files: usage?.openFiles ?? 0, sockets: usage?.openSockets ?? 0, megabytes: usage?.residentMb ?? 0 },
    ] as const;
  });
  return { links, held: new Map(held) };
}

async function requireBaseline(world: World, baseline: Holdings): Promise<void> {
  await requireQuiet(world);
  const now = await holdings(world);
  if (now.links !== baseline.links) throw new Error(`${now.links} links, before ${baseline.links}`);
  for (const [name, { files, megabytes }] of now.held) {
    const before = baseline.held.get(name) as Held;
    if (files > before.files + MORE_FILES) throw new Error(`${name} has ${files} open files, before ${before.files}`);
    if (megabytes > before.megabytes + MORE_MB) {
      throw new Error(`${name} holds ${Math.round(megabytes)} MB, before ${Math.round(before.megabytes)}`);
    }
  }
}

function report(before: Holdings, after: Holdings, findings: Findings): void {
  for (const [name, now] of after.held) {
    const then = before.held.get(name) as Held;
    const change = `files ${then.files} → ${now.files}, sockets ${then.sockets} → ${now.sockets}`;
    findings.figure(name, `${change}, memory ${Math.round(then.megabytes)} → ${Math.round(now.megabytes)} MB`);
  }
}
