// @tier full: 20 agents and minutes of load; libs/installation/endpoints shows each step with one agent
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fleetCluster, startAgentFleet, type AgentFleet } from '../support/agent-fleet.js';
import { createDoorClient, type DoorClient } from '../support/connect-door.js';
import { readEvents } from '../support/events.js';
import { fairlead } from '../support/fairlead.js';
import { startForwarder } from '../support/forwarder.js';
import { allLinked } from '../support/links.js';
import { startTcpTarget, type TcpTarget } from '../support/tcp-target.js';
import { startTestStack } from '../support/test-stack.js';
import { ping } from '../support/transfers.js';

/** In one process: more of them, on a machine that is full, answer no ping in time while each verifies what it is told. */
const AGENTS = 20;
const LINKS = 2;
/** Agents leave within a minute of hearing, and a tunnel that a door keeps idle ends within half a minute. */
const MOVED_MS = 180_000;

let resources: AsyncDisposableStack;
let stack: Stack;
let fleet: AgentFleet;
let target: TcpTarget;
let client: DoorClient;
/** Of each replica, where agents reach it first. */
let old: Address[];

beforeAll(async () => {
  resources = new AsyncDisposableStack();
  target = resources.use(await startTcpTarget());
  ({ stack } = resources.use(await startTestStack({ links: LINKS })));
  old = await Promise.all(stack.gateways.map(({ linkAddress }) => startAddress(linkAddress)));
  const endpoints = old.map(({ host }) => host);
  fleet = resources.use(await startAgentFleet(stack, { links: LINKS, endpoints, targets: [target.address] }));
  await fleet.join(AGENTS);
  client = resources.use(await createDoorClient(stack, 'load', clusters()));
}, 600_000);

afterAll(() => resources?.[Symbol.asyncDispose]());

const clusters = (): string[] => Array.from({ length: AGENTS }, (_, id) => fleetCluster(id));

interface Address extends AsyncDisposable {
  /** `host:port`. */
  readonly host: string;
  /** Agents' connections through it. */
  readonly open: () => number;
}

/** An address that leads to a replica, as a balancer's would. */
async function startAddress(linkAddress: string): Promise<Address> {
  const [host = '', port] = linkAddress.split(':');
  let open = 0;
  const forwarder = await startForwarder(() => {
    open += 1;
    return connect({ host, port: Number(port), noDelay: true }).once('close', () => (open -= 1));
  });
  return { host: forwarder.host, open: () => open, [Symbol.asyncDispose]: () => forwarder[Symbol.asyncDispose]() };
}

/** New connections to every cluster in turn, through each replica, until it is disposed of. */
function load(): AsyncDisposable & { readonly asked: () => number; readonly failures: readonly string[] } {
  const over = new AbortController();
  const failures: string[] = [];
  let asked = 0;
  const ask = async (connectUrl: string): Promise<void> => {
    for (let round = 0; !over.signal.aborted; round += 1) {
      const cluster = fleetCluster(round % AGENTS);
      await ping({ connectUrl, client, cluster, target }).catch((error: unknown) => {
        failures.push(`${cluster} through ${connectUrl}: ${String(error)}`);
      });
      asked += 1;
      await sleep(20);
    }
  };
  const asking = stack.gateways.map(({ connectUrl }) => ask(connectUrl));
  return {
    asked: () => asked,
    failures,
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await Promise.all(asking);
    },
  };
}

/** As the runbook says: add, drain, wait until nobody is there, remove. */
async function move(from: Address, linkAddress: string): Promise<Address> {
  const to = await startAddress(linkAddress);
  await fairlead(stack, 'endpoints', 'add', to.host);
  await fairlead(stack, 'endpoints', 'drain', from.host);
  await eventually(() => expect(from.open()).toBe(0), { timeoutMs: MOVED_MS, intervalMs: 500 });
  await from[Symbol.asyncDispose]();
  await fairlead(stack, 'endpoints', 'remove', from.host);
  return to;
}

it('both gateways move, one after the other, under load: no agent is stranded, none enrols again, no request fails', async () => {
  for (const { host } of old) await fairlead(stack, 'endpoints', 'add', host);
  await using asked = load();
  for (const [index, { linkAddress }] of stack.gateways.entries()) {
    const to = await move(old[index] as Address, linkAddress);
    resources.use(to);
    await eventually(() => expect(to.open()).toBe(AGENTS));
  }
  // The demo's agent dials the replicas themselves, which nobody named: it stays.
  await allLinked(stack, LINKS * (AGENTS + 1));
  const before = asked.asked();
  await eventually(() => expect(asked.asked()).toBeGreaterThan(before + 2 * AGENTS), { timeoutMs: MOVED_MS });
  expect(asked.failures.slice(0, 10)).toEqual([]);
  expect(fleet.news.filter(({ event }) => event === 'agent.enrolled')).toHaveLength(AGENTS);
  expect(fleet.news.filter(({ event }) => event === 'link.moving').length).toBeGreaterThanOrEqual(LINKS * AGENTS);
  expect(await fairlead(stack, 'endpoints', 'list')).toMatch(/: (\d+) of \1 clusters were told/);
  const changes = (await readEvents(stack)).filter(({ type }) => type === 'dev.fairlead.endpoints.changed.v1');
  expect(changes).toHaveLength(2 + 2 * 3);
}, 900_000);
