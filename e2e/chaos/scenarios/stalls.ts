import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { payload } from '../../support/payload.js';
import { usageOf } from '../../support/proc.js';
import { pidOf } from '../../support/replicas.js';
import { sendAll } from '../../support/tcp-target.js';
import { dial, ping, roundTrip, type Way } from '../../support/transfers.js';
import { quantile } from '../../support/pool.js';
import type { Findings } from '../findings.js';
import type { Scenario } from '../scenario.js';
import type { Replica, World } from '../world.js';
import { requireQuiet } from './quiet.js';

const NEW_ONES = 20;
/** More than every buffer on the way together. */
const ENDLESS_BYTES = 64 * 2 ** 20;
const FILL_MS = 2_000;
const FILL_DEADLINE_MS = 30_000;
const SETTLE_MS = 60_000;
/** "Changes nobody else's p99 by more than 30 %". */
const SLOWER = 1.3;
/**
 * What a stalled tunnel may hold in one process: a window of 1 MiB and 64 KiB for its reader in the direction that
 * stalls, at each of its two streams (PROTOCOL.md, Limits). The rest is what Node keeps of what went through.
 */
const PER_TUNNEL_MB = 2 * (1 + 64 / 1024);
const ALLOWANCE_MB = 64;

type Stall = (way: Way, index: number) => Promise<TLSSocket>;

const STALLS: readonly (readonly [string, Stall])[] = [
  ['reader (a client that takes nothing of a download)', stalledReader],
  ['writer (a client that stops in the middle of an upload)', stalledWriter],
  ['destination (a target that reads nothing)', stalledDestination],
  ['client (half a request head, and silence)', stalledClient],
];

/** Connections that stand still, of each kind: nobody else is stopped, and memory stays within its bounds. */
export const stalls: Scenario = {
  letter: 'g',
  title: 'stalled reader, writer, destination and client',
  async run(world, { stalls: count, pings }, findings) {
    const { holders } = await world.roles();
    const way = world.way(holders[0] as Replica);
    const idleP99 = quantile(await pingTimes(way, pings), 0.99);
    findings.figure('p99 of pings, idle', idleP99, 'ms');
    for (const [kind, stall] of STALLS) {
      const before = residentMb(world);
      const stalled = await Promise.all(Array.from({ length: count }, (_, index) => stall(way, index)));
      await filled(stalled);
      const times = await pingTimes(way, pings);
      const tries = await Promise.allSettled(Array.from({ length: NEW_ONES }, () => ping(way)));
      const good = tries.filter(({ status }) => status === 'fulfilled').length;
      const p99 = quantile(times, 0.99);
      findings.figure(`${count} × ${kind}: p99 of pings`, `${p99.toFixed(2)} ms, ${(p99 / idleP99).toFixed(2)} × idle`);
      findings.figure(`${count} × ${kind}: new connections`, `${good} of ${NEW_ONES}`);
      findings.must(times.length === pings, `${kind}: ${times.length} of ${pings} pings came back`);
      findings.must(good === NEW_ONES, `${kind}: ${good} of ${NEW_ONES} new connections worked`);
      findings.mustInTime(p99 <= SLOWER * idleP99, `${kind}: p99 of pings ${(p99 / idleP99).toFixed(2)} × idle`);
      await judgeMemory(
        { world, way, before, boundMb: count * PER_TUNNEL_MB + ALLOWANCE_MB },
        `${count} × ${kind}`,
        findings,
      );
      for (const socket of stalled) socket.destroy();
      // Whoever goes away behind unread bytes is not missed before somebody reads them, as on any TCP connection.
      world.target.drop();
      await eventually(() => requireQuiet(world), { timeoutMs: SETTLE_MS });
    }
  },
};

async function pingTimes(way: Way, count: number): Promise<number[]> {
  const socket = await dial(way);
  const times: number[] = [];
  try {
    socket.write('echo pings 0\n');
    await roundTrip(socket);
    while (times.length < count) times.push(await roundTrip(socket));
  } catch {
    // The count tells how far it came.
  } finally {
    socket.destroy();
  }
  return times;
}

async function stalledReader(way: Way, index: number): Promise<TLSSocket> {
  const socket = await dial(way);
  socket.pause();
  socket.write(`send stall/${index} ${ENDLESS_BYTES}\n`);
  return socket;
}

async function stalledWriter(way: Way, index: number): Promise<TLSSocket> {
  const socket = await dial(way);
  socket.write(`receive stall/${index} ${ENDLESS_BYTES}\n`);
  await sendAll(socket, payload(`stall/${index}`, 2 ** 20));
  return socket;
}

async function stalledDestination(way: Way, index: number): Promise<TLSSocket> {
  const socket = await dial(way);
  socket.write(`hold stall/${index} 0\n`);
  // It ends when the socket is destroyed; until then it waits for room.
  void sendAll(socket, payload(`stall/${index}`, ENDLESS_BYTES)).catch(() => undefined);
  return socket;
}

async function stalledClient({ connectUrl, client, target }: Way): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(connectUrl);
  const { ca, key, cert } = client;
  const socket = connect({ host, port: Number(port), ca, key, cert });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.write(`CONNECT ${target.address} HTTP/1.1\r\nHost: ${target.address}\r\n`);
  return socket;
}

/** Until what a stalled writer can hand over does not grow any more: then every buffer on the way is full. */
async function filled(sockets: readonly TLSSocket[]): Promise<void> {
  const taken = (): number => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  const deadline = performance.now() + FILL_DEADLINE_MS;
  for (let before = -1; taken() !== before && performance.now() < deadline;) {
    before = taken();
    await sleep(FILL_MS);
  }
}

type Resident = ReadonlyMap<string, number>;

function residentMb(world: World): Resident {
  const pids = [
    ...world.replicas.map((replica) => [replica.name, pidOf(world.stack, replica)] as const),
    ['agent', world.agent.pid] as const,
  ];
  return new Map(pids.map(([name, pid]) => [name, usageOf(pid)?.residentMb ?? 0]));
}

interface Growth {
  readonly world: World;
  readonly way: Way;
  readonly before: Resident;
  readonly boundMb: number;
}

/** What is held stays; what is garbage goes, once more traffic has V8 collect it. */
async function judgeMemory({ world, way, before, boundMb }: Growth, kind: string, findings: Findings): Promise<void> {
  const growth = (): [string, number][] =>
    [...residentMb(world)].map(([name, mb]) => [name, mb - (before.get(name) ?? 0)]);
  await eventually(
    async () => {
      const over = growth().filter(([, mb]) => mb > boundMb);
      if (over.length === 0) return;
      await ping(way);
      throw new Error(over.map(([name, mb]) => `${name} grew by ${mb.toFixed(0)} MB`).join(', '));
    },
    { timeoutMs: SETTLE_MS },
  ).catch((error: Error) => findings.must(false, `${kind}: more than ${boundMb.toFixed(0)} MB: ${error.message}`));
  const text = growth().map(([name, mb]) => `${name} ${mb.toFixed(0)}`);
  findings.figure(`${kind}: memory grew by (MB)`, `${text.join(', ')}; bound ${boundMb.toFixed(0)}`);
}
