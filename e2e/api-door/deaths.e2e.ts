// @tier full: what streams go over is killed or frozen, and a thousand of them begun; `streams` shows the agent's death under exec
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { Duplex } from 'node:stream';
import type { GatewayAddresses } from '@fairlead/stack';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveHeapOf } from '../support/live-heap.js';
import { usageOf } from '../support/proc.js';
import { pidOf } from '../support/replicas.js';
import { adminToken } from '../support/test-stack.js';
import { describeDeaths } from './death-stories.js';
import { startStreamingWorld, type StreamingWorld } from './world.js';

let world: StreamingWorld;
beforeAll(async () => {
  world = await startStreamingWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

describeDeaths(() => world);

describe('of a thousand', () => {
  const [STREAMS, AT_ONCE] = [1_000, 20];
  /** Of the live heap, for all of them; a stream that leaves its buffers or its timers behind costs more by itself than 10 KB. */
  const MOST_GROWTH_BYTES = 4_000_000;

  it('none leaves a session, a tunnel, a socket or memory behind, however it ends', async () => {
    const { gateways } = world.stack;
    const ca = await readFile(world.stack.api.caFile, 'utf8');
    const token = await adminToken(world.stack);
    const open = (index: number): Promise<string> =>
      openStream(gateways[index % gateways.length]?.doorUrl ?? '', { ca, token, index });
    const round = async (streams: number): Promise<string[]> => {
      const ways: string[] = [];
      for (let first = 0; first < streams; first += AT_ONCE) {
        ways.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => open(first + i)))));
      }
      return ways;
    };
    await round(200);
    const before = await atRest(gateways);
    const ways = await round(STREAMS);
    expect(ways.toSorted()).toEqual([
      ...repeated('broken off', 500),
      ...repeated('ended', 250),
      ...repeated('refused with 404', 250),
    ]);
    const after = await atRest(gateways);
    const grown = after.map(({ sockets, heapBytes }, index) => ({
      sockets: sockets - (before[index]?.sockets ?? 0),
      heapBytes: heapBytes - (before[index]?.heapBytes ?? 0),
    }));
    const tooMuch = grown.filter(({ sockets, heapBytes }) => sockets > 4 || heapBytes > MOST_GROWTH_BYTES);
    expect(tooMuch, `of both replicas and the agent: ${JSON.stringify(grown)}`).toEqual([]);
  });

  /** Of both replicas and the agent, once nothing runs at them any more. */
  async function atRest(gateways: readonly GatewayAddresses[]): Promise<Held[]> {
    await eventually(
      async () => {
        for (const { healthUrl } of gateways) {
          const answer = await fetch(`${healthUrl}/debug/sessions`, { signal: AbortSignal.timeout(5_000) });
          const { totals } = (await answer.json()) as { totals: { connections: number; tunnelsInUse: number } };
          expect([totals.connections, totals.tunnelsInUse]).toEqual([0, 0]);
        }
      },
      { timeoutMs: 60_000 },
    );
    const pids = [
      ...gateways.map((gateway) => pidOf(world.stack, gateway)),
      world.stack.process('agent-demo').pid ?? 0,
    ];
    const held: Held[] = [];
    for (const pid of pids) held.push({ heapBytes: await liveHeapOf(pid), sockets: usageOf(pid)?.openSockets ?? 0 });
    return held;
  }
});

interface Held {
  readonly heapBytes: number;
  readonly sockets: number;
}

const repeated = (way: string, times: number): string[] => Array.from({ length: times }, () => way);

interface OpenOptions {
  readonly ca: string;
  readonly token: string;
  readonly index: number;
}

/** One exec by WebSocket, without a library that would end it properly. Resolves with how it went. */
function openStream(door: string, { ca, token, index }: OpenOptions): Promise<string> {
  const [isRefused, endsItself, atOnce] = [index % 4 === 0, index % 4 === 1, index % 4 === 2];
  const command = endsItself ? 'command=true' : 'command=sleep&command=1000';
  const pod = isRefused ? 'nobody' : 'shell';
  const path = `/clusters/demo/api/v1/namespaces/default/pods/${pod}/exec?${command}&stdout=true`;
  return new Promise((resolve, reject) => {
    const asking = request(`${door}${path}`, {
      ca,
      agent: false,
      signal: AbortSignal.timeout(60_000),
      headers: {
        authorization: `Bearer ${token}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': 'v5.channel.k8s.io',
      },
    });
    asking.once('error', reject);
    asking.once('response', (answer) => {
      answer.resume().once('close', () => resolve(`refused with ${answer.statusCode}`));
    });
    asking.once('upgrade', (_answer, socket: Duplex) => {
      socket.on('error', () => undefined).resume();
      socket.once('close', () => resolve(endsItself ? 'ended' : 'broken off'));
      if (endsItself) socket.once('end', () => socket.end());
      else if (atOnce) socket.destroy();
      else setTimeout(() => socket.destroy(), 50);
    });
    asking.end();
  });
}
