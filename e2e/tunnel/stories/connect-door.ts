import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectThrough, createDoorClient, type DoorClient } from '../../support/connect-door.js';
import { listening, targetOf } from '../../support/door-targets.js';
import { readEvents } from '../../support/events.js';
import { sharedStack } from '../../support/shared-stack.js';
import { counterOf, whoHoldsTheLink, type TestStack } from '../../support/test-stack.js';

const RELAYED = 'fairlead_gateway_relayed_tunnels_total';

let running: TestStack;
/** No rule of the agent names it. */
let closed: Server;
let closedAt: string;
let holder: string;
let other: string;
/** May reach the demo cluster only. */
let client: DoorClient;

const door = (gateway: string): string =>
  running.stack.gateways.find(({ name }) => name === gateway)?.connectUrl ?? 'https://127.0.0.1:1';

beforeAll(async () => {
  closed = createServer((socket) => socket.end('nobody may read this'));
  closedAt = await listening(closed);
  running = sharedStack();
  ({ holder, other } = await whoHoldsTheLink(running.stack));
  const elsewhere = await running.stack.cli(['cluster', 'create', 'elsewhere']);
  if (elsewhere.code !== 0) throw new Error(elsewhere.stderr);
  client = await createDoorClient(running.stack, 'prometheus', ['demo']);
  await untilAnswered(client, 200);
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  closed?.close();
});

async function statusOf(...args: Parameters<typeof connectThrough>): Promise<number> {
  const { status, socket } = await connectThrough(...args);
  socket.destroy();
  return status;
}

/** Gateways learn of a change a moment after the command has ended. */
async function untilAnswered(by: DoorClient, wanted: number): Promise<void> {
  for (const { connectUrl } of running.stack.gateways) {
    await eventually(async () => {
      const status = await statusOf(connectUrl, by, targetOf('echo'));
      if (status !== wanted) throw new Error(`${by.name} is answered ${status}, not ${wanted}`);
    });
  }
}

describe('a client', () => {
  it('reaches a target through each replica, byte for byte, and its half-close arrives', async () => {
    const relayed = await counterOf(running.stack, other, RELAYED, 'direction="out"');
    for (const gateway of [holder, other]) {
      const { status, socket } = await connectThrough(door(gateway), client, targetOf('echo'));
      expect(status).toBe(200);
      const sent = randomBytes(1_000_000);
      socket.end(sent);
      expect((await buffer(socket)).equals(sent)).toBe(true);
    }
    expect(await counterOf(running.stack, other, RELAYED, 'direction="out"')).toBeGreaterThan(relayed);
  });

  it('may name its cluster, and speak HTTP with a server there', async () => {
    const { status, socket } = await connectThrough(door(other), client, targetOf('web'), 'demo');
    expect(status).toBe(200);
    socket.write(`GET /metrics HTTP/1.1\r\nHost: ${targetOf('web')}\r\nConnection: close\r\n\r\n`);
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*you asked for \/metrics/);
    socket.destroy();
  });

  it('is refused a target that no rule of the agent names', async () => {
    for (const gateway of [holder, other]) {
      const { status, reason, socket } = await connectThrough(door(gateway), client, closedAt);
      expect({ status, reason }).toEqual({ status: 403, reason: 'TARGET_REFUSED' });
      expect((await buffer(socket)).toString()).not.toContain('nobody may read this');
      socket.destroy();
    }
  });

  it('for one cluster cannot name another, whether there is one or not', async () => {
    for (const cluster of ['elsewhere', 'nowhere']) {
      const { status, reason, socket } = await connectThrough(door(holder), client, targetOf('echo'), cluster);
      expect({ status, reason }).toEqual({ status: 403, reason: 'FORBIDDEN' });
      socket.destroy();
    }
  });

  it('for two clusters has to say which', async () => {
    await using both = await createDoorClient(running.stack, 'both', ['demo', 'elsewhere']);
    const named = (cluster?: string): Promise<number> => statusOf(door(holder), both, targetOf('echo'), cluster);
    await eventually(async () => expect(await named('demo')).toBe(200));
    expect(await named()).toBe(407);
    // It may, but no agent is there.
    expect(await named('elsewhere')).toBe(503);
  });

  it('reaches what it is granted, at every replica, until it is taken back', async () => {
    const { stack } = running;
    await using probe = await createDoorClient(stack, 'probe', []);
    const what = ['--cluster', 'demo', '--target', targetOf('echo'), '--for', '1h', '--reason', 'probes'];
    const { code, stdout, stderr } = await stack.cli(['grant', 'create', '--client', 'probe', ...what, '-o', 'json']);
    expect([code, stderr]).toEqual([0, '']);
    await untilAnswered(probe, 200);
    expect(await statusOf(door(other), probe, targetOf('web'))).toBe(403);
    const why = ['access', 'explain', 'client:probe', 'demo', 'connect'];
    expect((await stack.cli([...why, targetOf('echo')])).stdout).toMatch(/^allowed: /);
    expect((await stack.cli([...why, targetOf('web')])).stdout).toMatch(/^refused: no grant holds this target/);
    const { id } = JSON.parse(stdout) as { id: string };
    expect(await stack.cli(['grant', 'delete', id, '--yes'])).toMatchObject({ code: 0 });
    await untilAnswered(probe, 403);
  });

  it('that was deleted is refused at every replica, and one without a certificate does not get in', async () => {
    const { stack } = running;
    await using leaver = await createDoorClient(stack, 'leaver', ['demo']);
    await untilAnswered(leaver, 200);
    expect(await stack.cli(['client', 'delete', 'leaver', '--yes'])).toMatchObject({ code: 0 });
    await untilAnswered(leaver, 403);
    for (const { connectUrl } of stack.gateways) {
      await expect(statusOf(connectUrl, { ca: client.ca }, targetOf('echo'))).rejects.toBeInstanceOf(Error);
    }
    await eventually(async () => {
      const types = (await readEvents(stack)).map(({ type }) => type);
      expect(types).toEqual(
        expect.arrayContaining(['created', 'certified', 'deleted'].map((what) => `dev.fairlead.client.${what}.v1`)),
      );
    });
  });
});
