import { readAttributes } from '@fairlead/access-rules';
import { GrantsDirectory, decideRequest } from '@fairlead/gateway/parts';
import { COLLECTING_OF_SERVER, collectWhenIdle } from '@fairlead/config';
import { connectNats } from '@fairlead/messaging';
import { silentLogger } from '@fairlead/observability';
import { residentKb } from '../process/memory.js';
import { setTimeout } from 'node:timers/promises';
import { CLUSTERS, USERS, clusterOf, provenOf } from './grants.js';

/** What the bench tells a replica to do. */
export type Command =
  | { readonly do: 'load'; readonly url: string; readonly credential: string; readonly seedFile: string }
  | { readonly do: 'decide'; readonly count: number }
  /** Answers with the time when this user is sent with the group. */
  | { readonly do: 'await'; readonly user: number; readonly group: string };

export interface Loaded {
  readonly loadMs: number;
  /** Of this process alone, whatever else runs beside it. */
  readonly cpuMs: number;
  readonly mib: number;
  /** Of these, when it had nothing to do for a while. */
  readonly keptMib: number;
}

/** Microseconds. `first`: of a user in a cluster of which nothing has been worked out yet. */
export interface Decided {
  readonly p50: number;
  readonly p99: number;
  readonly firstP50: number;
  readonly firstP99: number;
}

const TARGETS = [
  '/api/v1/namespaces/team-1/pods?limit=500',
  '/api/v1/namespaces/team-1/pods/web-0/log?follow=true',
  '/apis/apps/v1/namespaces/team-2/deployments?watch=1&resourceVersion=1',
  '/api/v1/nodes',
  '/api/v1/namespaces/team-3/secrets',
] as const;
const POLL_MS = 2;
/** Longer than a gateway takes to notice that it is calm, and to give back what it does not use. */
const IDLE_MS = 45_000;
/** Clusters that one user works in. */
const CLUSTERS_EACH = 3;

const users = Array.from({ length: USERS }, (_, user) => provenOf(user));
const clusters = Array.from({ length: CLUSTERS }, (_, index) => clusterOf(index));
let directory: GrantsDirectory;

process.on('message', (command: Command) => void run(command));
process.on('disconnect', () => process.exit());

async function run(command: Command): Promise<void> {
  if (command.do === 'load') process.send?.(await load(command));
  else if (command.do === 'decide') process.send?.(decideMany(command.count));
  else process.send?.(await awaitGroup(command));
}

async function load({ url, credential, seedFile }: Extract<Command, { do: 'load' }>): Promise<Loaded> {
  const signal = AbortSignal.timeout(150_000);
  const nc = await connectNats({ role: 'gateway', credential, url, seedFile, logger: silentLogger, signal });
  collectWhenIdle(signal, COLLECTING_OF_SERVER);
  await setTimeout(IDLE_MS);
  const beforeKb = await residentKb([process.pid]);
  const [beganMs, began] = [performance.now(), process.cpuUsage()];
  directory = new GrantsDirectory(nc, silentLogger);
  await directory.snapshot.loaded;
  const loadMs = performance.now() - beganMs;
  const { user, system } = process.cpuUsage(began);
  const grownMib = async (): Promise<number> => ((await residentKb([process.pid])) - beforeKb) / 1_024;
  const mib = await grownMib();
  await setTimeout(IDLE_MS);
  return { loadMs, cpuMs: (user + system) / 1_000, mib, keptMib: await grownMib() };
}

function decideMany(count: number): Decided {
  const first = new Float64Array(USERS * CLUSTERS_EACH);
  for (let i = 0; i < first.length; i += 1) first[i] = decideOnce(i, i);
  const again = new Float64Array(count);
  for (let i = 0; i < count; i += 1) again[i] = decideOnce(Math.floor(Math.random() * first.length), i);
  const [firstTimes, times] = [first.toSorted(), again.toSorted()];
  const at = (sorted: Float64Array, share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { p50: at(times, 0.5), p99: at(times, 0.99), firstP50: at(firstTimes, 0.5), firstP99: at(firstTimes, 0.99) };
}

/** From the target to the groups, as the door decides: what it takes in microseconds. */
function decideOnce(pair: number, nth: number): number {
  const user = Math.floor(pair / CLUSTERS_EACH);
  const who = users[user];
  const cluster = clusters[(user + (pair % CLUSTERS_EACH)) % CLUSTERS];
  const target = TARGETS[nth % TARGETS.length];
  if (!who || !cluster || !target) throw new RangeError('there is no such pair');
  const beganMs = performance.now();
  const rules = directory.index.rulesOf(who, cluster, Date.now());
  decideRequest(who, cluster, rules, { attributes: readAttributes('GET', target), as: undefined });
  return (performance.now() - beganMs) * 1_000;
}

function awaitGroup({ user, group }: Extract<Command, { do: 'await' }>): Promise<number> {
  return new Promise((resolve) => {
    const look = (): void => {
      const [who, cluster] = [users[user], clusters[0]];
      if (!who || !cluster) throw new RangeError('there is no such user');
      const { allow } = directory.index.rulesOf(who, cluster, Date.now());
      if (!allow.some(({ groups }) => groups.includes(group))) return;
      clearInterval(timer);
      resolve(Date.now());
    };
    const timer = setInterval(look, POLL_MS);
  });
}
