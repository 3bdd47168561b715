import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectThrough, createDoorClient, type DoorClient } from '../support/connect-door.js';
import { https } from '../support/https.js';
import { adminToken, sessionIdsOf, startTestStack, type TestStack } from '../support/test-stack.js';
import { watchKubectl } from '../support/watching.js';

/** As short as a certificate can live here, and for how many of its lives this goes on. */
const LIFE_SECONDS = 20;
const LIVES = 6;
const PAUSE_MS = 250;

let running: TestStack;
let echo: Server;
let client: DoorClient;

beforeAll(async () => {
  echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  running = await startTestStack({ links: 2, certificateTtlSeconds: LIFE_SECONDS, demoTargets: [target()] });
  await eventually(async () => {
    if ((await linkedSessions()).length !== 2) throw new Error('the agent does not hold two links');
  });
  client = await createDoorClient(running.stack, 'prometheus', ['demo']);
});
afterAll(async () => {
  await client?.[Symbol.asyncDispose]();
  await running?.[Symbol.asyncDispose]();
  echo?.close();
});

const target = (): string => `127.0.0.1:${(echo.address() as AddressInfo).port}`;

async function linkedSessions(): Promise<string[]> {
  const all = await Promise.all(running.stack.gateways.map(({ healthUrl }) => sessionIdsOf(healthUrl)));
  return all.flat().sort();
}

async function openTunnel(connectUrl: string): Promise<TLSSocket> {
  const { socket } = await eventually(async () => {
    const connected = await connectThrough(connectUrl, client, target());
    if (connected.status !== 200) throw new Error(`answered ${connected.status}`);
    return connected;
  });
  socket.on('error', () => undefined);
  return socket;
}

/** There and back on a connection that was opened when other certificates were in force. */
async function pingThrough(socket: TLSSocket, text: string): Promise<void> {
  socket.write(text);
  for (let heard = ''; heard !== text;) {
    const [chunk] = (await once(socket, 'data', { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    heard += chunk.toString();
  }
}

it('certificates that live for seconds are renewed under load, and no connection is dropped for it', async () => {
  const { gateways } = running.stack;
  const token = await adminToken(running.stack);
  const before = await linkedSessions();
  await using watchA = watchKubectl(running.stack, 'gateway-a', ['get', 'ns', '-w', '--output-watch-events']);
  await using watchB = watchKubectl(running.stack, 'gateway-b', ['get', 'ns', '-w', '--output-watch-events']);
  await Promise.all([watchA, watchB].map((each) => each.line(/ADDED +default/, 20_000)));
  const tunnels = await Promise.all(gateways.map(({ connectUrl }) => openTunnel(connectUrl)));
  const failed: string[] = [];
  let asked = 0;
  for (
    const endMs = performance.now() + LIVES * LIFE_SECONDS * 1_000;
    performance.now() < endMs;
    await delay(PAUSE_MS)
  ) {
    asked += 1;
    await Promise.all([
      ...tunnels.map((tunnel) => pingThrough(tunnel, `ping ${asked}`)),
      ...gateways.map(async ({ name, doorUrl }) => {
        const headers = { authorization: `Bearer ${token}` };
        const answer = await https(running.stack, `${doorUrl}/clusters/demo/api/v1/namespaces/default`, { headers });
        if (answer.status !== 200) failed.push(`${name}: ${answer.status} ${answer.body.slice(0, 200)}`);
      }),
    ]);
  }
  expect({ failed, asked: asked > LIVES }).toEqual({ failed: [], asked: true });
  // The links that stood at the beginning stand at the end, though nobody would take their certificates any more.
  expect(await linkedSessions()).toEqual(before);
  for (const each of [watchA, watchB]) expect(each.endedYet()).toBe(false);
  const { stdout } = await running.stack.cli(['certificate', 'list', 'demo', '-o', 'json']);
  const { certificates } = JSON.parse(stdout) as { certificates: { generation: number }[] };
  expect(certificates.length).toBeGreaterThanOrEqual(LIVES);
  expect(new Set(certificates.map(({ generation }) => generation)).size).toBe(1);
  for (const tunnel of tunnels) tunnel.destroy();
});
