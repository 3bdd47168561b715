import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';
import { BUCKETS, grantsKeys, type GrantEntry, type GrantsEntry } from '@fairlead/contracts';
import { putKv } from '@fairlead/messaging';
import { startSecuredNats } from '@fairlead/messaging/testing';
import { NODE_ENVIRONMENT, NODE_FLAGS, allocatorEnvironment } from '@fairlead/stack';
import { scratchDir } from '@fairlead/testing';
import type { NatsConnection } from '@nats-io/transport-node';
import { GRANTS_EACH, TENANT, USERS, grantsOf, subjectOf } from './grants.js';
import type { Command, Decided, Loaded } from './replica.js';

const DECISIONS = 500_000;
const CHANGES = 50;
const AT_ONCE = 100;
const REPLICAS = ['gateway-a', 'gateway-b'] as const;

await main();

/** Fills the bucket `grants` of a real nats-server, lets two processes follow it as replicas do, and prints what that takes. */
async function main(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const scratch = owned.use(await scratchDir('fairlead-bench-grants-'));
  const nats = owned.use(await startSecuredNats(scratch.path));
  const access = await nats.connect({ role: 'access', credential: 'access' });
  for (let user = 0; user < USERS; user += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => grant(access, user + i, grantsOf(user + i))));
  }
  await putKv(access, BUCKETS.grants, grantsKeys.complete, {});
  const replicas = REPLICAS.map((credential) => {
    const replica = fork(new URL('replica.js', import.meta.url), {
      // As a gateway runs.
      execArgv: [...NODE_FLAGS],
      env: { ...process.env, ...NODE_ENVIRONMENT, ...allocatorEnvironment() },
    });
    owned.defer(() => void replica.kill());
    return { replica, credential, seedFile: nats.seedFile({ role: 'gateway', credential }) };
  });
  const { url } = nats.server.info;
  const loaded: Loaded[] = [];
  for (const { replica, credential, seedFile } of replicas) {
    loaded.push(await tell<Loaded>(replica, { do: 'load', url, credential, seedFile }));
  }
  const [first] = replicas;
  if (!first) return;
  const decided = await tell<Decided>(first.replica, { do: 'decide', count: DECISIONS });
  const changes: number[] = [];
  for (let nth = 0; nth < CHANGES; nth += 1)
    changes.push(
      await change(
        access,
        replicas.map(({ replica }) => replica),
      ),
    );
  report(loaded, decided, changes);
}

function grant(access: NatsConnection, user: number, grants: GrantEntry[]): Promise<void> {
  const subject = subjectOf(user);
  const entry: GrantsEntry = { kind: 'subject', tenantId: TENANT, subject, grants };
  return putKv(access, BUCKETS.grants, grantsKeys.subject(TENANT, subject), entry);
}

/** From before it is written until the last replica decides by it, in milliseconds. */
async function change(access: NatsConnection, replicas: readonly ChildProcess[]): Promise<number> {
  const user = Math.floor(Math.random() * USERS);
  const group = `changed-${randomUUID()}`;
  const rule = { grantId: randomUUID(), effect: 'allow' as const, groups: [group], narrowing: {} };
  const waiting = Promise.all(replicas.map((replica) => tell<number>(replica, { do: 'await', user, group })));
  const beganMs = Date.now();
  const added = { rule, clusters: { all: true as const }, notBefore: null, expiresAt: null };
  await grant(access, user, [...grantsOf(user), added]);
  return Math.max(...(await waiting)) - beganMs;
}

async function tell<T>(replica: ChildProcess, command: Command): Promise<T> {
  replica.send(command);
  const [answer] = (await once(replica, 'message')) as [T];
  return answer;
}

function report(loaded: readonly Loaded[], decided: Decided, changes: readonly number[]): void {
  const most = (values: readonly number[]): string => Math.max(...values).toFixed(0);
  const load = (loadavg()[0] ?? 0).toFixed(1);
  const lines = [
    `${USERS * GRANTS_EACH} grants, ${USERS} users; ${availableParallelism()} cores, load average ${load}; Node ${process.version}`,
    `decision: p50 ${decided.p50.toFixed(1)} µs, p99 ${decided.p99.toFixed(1)} µs`,
    `first decision of a user in a cluster: p50 ${decided.firstP50.toFixed(1)} µs, p99 ${decided.firstP99.toFixed(1)} µs`,
    `a replica loads all in ${most(loaded.map(({ loadMs }) => loadMs))} ms (${most(loaded.map(({ cpuMs }) => cpuMs))} ms of CPU), grows by ${most(loaded.map(({ mib }) => mib))} MiB meanwhile, and holds ${most(loaded.map(({ keptMib }) => keptMib))} MiB of it once it is idle`,
    `a change is at both replicas within ${most(changes)} ms, of ${CHANGES}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
