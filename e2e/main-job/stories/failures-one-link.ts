import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedStack } from '../../support/shared-stack.js';
import { kubectl, sessionsOf, showCluster, whoHoldsTheLink, type TestStack } from '../../support/test-stack.js';

/** That of a stack for tests. */
const LEASE_MS = 3_000;
/** Several times what any way back takes, and less than a test may: how fast it is, the bench measures (`recover_*`). */
const BACK_MS = 90_000;

let running: TestStack;
let generation: number;

beforeAll(async () => {
  running = sharedStack();
  ({ generation } = await showCluster(running.stack, 'demo'));
});

const gateways = (): string[] => running.stack.gateways.map(({ name }) => name);

async function worksThroughBoth(): Promise<void> {
  for (const gateway of gateways()) expect(await kubectl(running.stack, gateway, ['get', 'ns'])).toContain('default');
}

async function enrolledOnce(): Promise<void> {
  expect((await showCluster(running.stack, 'demo')).generation).toBe(generation);
}

describe('SIGKILL', () => {
  it('of the gateway that holds the link: the other one serves, by itself', async () => {
    const { stack } = running;
    const { holder, other } = await whoHoldsTheLink(stack);
    stack.process(holder).kill('SIGKILL');
    await eventually(() => kubectl(stack, other, ['get', 'ns']), { timeoutMs: BACK_MS });
    await stack.process(holder).restart();
    await eventually(worksThroughBoth, { timeoutMs: BACK_MS });
    await enrolledOnce();
  });

  it('of the agent: back after a restart, without enrolling again', async () => {
    const { stack } = running;
    const agent = stack.process('agent-demo');
    agent.kill('SIGKILL');
    await agent.exited;
    // client-go obeys Retry-After ten times before it gives up and prints the reason.
    const refused = await stack.kubectl(['get', 'ns'], { timeoutMs: BACK_MS });
    await agent.restart();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("the cluster's agent is not connected to any replica");
    await eventually(worksThroughBoth, { timeoutMs: BACK_MS });
    await enrolledOnce();
  });

  it('of NATS: established links keep serving, relayed ones too, beyond the lease and 30 s after', async () => {
    const { stack } = running;
    await worksThroughBoth();
    const nats = stack.process('nats');
    nats.kill('SIGKILL');
    await nats.exited;
    const until = Date.now() + 3 * LEASE_MS;
    while (Date.now() < until) {
      await worksThroughBoth();
      await sleep(1_000);
    }
    const { code, stderr } = await stack.cli(['cluster', 'list']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .*\nnext: /);
    await nats.restart();
    const after = Date.now() + 30_000;
    while (Date.now() < after) {
      await worksThroughBoth();
      await sleep(4_000);
    }
    await eventually(enrolledOnce, { timeoutMs: BACK_MS });
  });

  it('of Postgres: links keep serving, the admin API says so, and comes back', async () => {
    const { stack } = running;
    const postgres = stack.process('postgres');
    postgres.kill('SIGKILL');
    await postgres.exited;
    await worksThroughBoth();
    expect((await stack.cli(['cluster', 'list'])).code).toBe(1);
    await postgres.restart();
    await eventually(enrolledOnce, { timeoutMs: BACK_MS });
    await worksThroughBoth();
  });

  it('of NATS and Postgres together: nothing is lost', async () => {
    const { stack } = running;
    const both = ['nats', 'postgres'].map((name) => stack.process(name));
    for (const process of both) process.kill('SIGKILL');
    await Promise.all(both.map(({ exited }) => exited));
    await sleep(2 * LEASE_MS);
    await worksThroughBoth();
    await Promise.all(both.map((process) => process.restart()));
    await eventually(enrolledOnce, { timeoutMs: BACK_MS });
    await worksThroughBoth();
    expect((await stack.cli(['cluster', 'create', 'after-the-storm'])).code).toBe(0);
  });
});

describe('SIGSTOP', () => {
  it('of the gateway that holds the link: the agent notices and moves', async () => {
    const { stack } = running;
    const { holder, other } = await whoHoldsTheLink(stack);
    stack.process(holder).kill('SIGSTOP');
    try {
      await eventually(() => kubectl(stack, other, ['get', 'ns', '--request-timeout=8s']), { timeoutMs: BACK_MS });
    } finally {
      stack.process(holder).kill('SIGCONT');
    }
    await eventually(worksThroughBoth, { timeoutMs: BACK_MS });
  });
});

describe('SIGTERM', () => {
  it('of the gateway that holds the link: the agent is told to move, and no request fails', async () => {
    const { stack } = running;
    const { holder, other } = await whoHoldsTheLink(stack);
    const stopping = stack.process(holder).stop();
    const failures: string[] = [];
    const until = Date.now() + 6_000;
    while (Date.now() < until) {
      await kubectl(stack, other, ['get', 'ns']).catch((error: Error) => failures.push(error.message));
    }
    await stopping;
    expect(failures).toEqual([]);
    await stack.process(holder).restart();
    await eventually(worksThroughBoth, { timeoutMs: BACK_MS });
    await eventually(async () =>
      expect(await sessionsOf(stack.gateways.find(({ name }) => name === other)?.healthUrl ?? '')).toBe(1),
    );
  });
});
