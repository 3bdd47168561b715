import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';
import { startRecordingApiServer, type RecordingApiServer } from '@fairlead/tunnel/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callDoor, openDoor } from './kube-client.js';
import { startReplicaPair, type ReplicaPair } from './linked-cluster.js';
import type { RunningAgent } from './test-agent.js';

/** The two pods of one cluster's agent: each with an API server that says which of them it was asked by. */
const PODS = ['one', 'other'] as const;
type Pod = (typeof PODS)[number];

const DRAIN_MS = 30_000;
let pair: ReplicaPair;
const apis = new Map<Pod, RecordingApiServer>();
const agents = new Map<Pod, RunningAgent>();

beforeAll(async () => {
  pair = await startReplicaPair();
  for (const pod of PODS) apis.set(pod, await startRecordingApiServer(pair.installation.authority));
  for (const pod of PODS) await start(pod);
});
afterAll(async () => {
  await pair?.[Symbol.asyncDispose]();
  for (const api of apis.values()) await api[Symbol.asyncDispose]();
});

async function start(pod: Pod, drainMs = DRAIN_MS): Promise<void> {
  const api = apis.get(pod) as RecordingApiServer;
  api.handle = (request, response) => void answer(pod, request, response);
  const options = { replicas: [pair.a, pair.b], links: 2, apiPort: api.port, drainMs };
  agents.set(pod, await pair.installation.startAgent(options));
}

const held = new Map<ServerResponse, Pod>();

/** `/held` is answered when the test says so, and everything else soon. */
async function answer(pod: Pod, request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume();
  if (request.url?.endsWith('/held')) {
    held.set(response, pod);
    response.writeHead(200).write(pod);
    return;
  }
  await delay(5 + Math.random() * 20);
  response.end(pod);
}

interface Load {
  readonly failures: string[];
  readonly answeredBy: Map<string, number>;
  end(): Promise<void>;
}

/** Requests at both replicas, of several users and on connections that are kept, until it is ended. */
function load(methods: readonly string[]): Load {
  const over = new AbortController();
  const [failures, answeredBy] = [[] as string[], new Map<string, number>()];
  const agent = new Agent({ keepAlive: true });
  const worker = async (index: number): Promise<void> => {
    for (let round = index; !over.signal.aborted; round += 1) {
      const replica = round % 2 === 0 ? pair.a : pair.b;
      const method = methods[round % methods.length] ?? 'GET';
      const call = { method, agent, ...(method === 'POST' ? { body: '{}' } : {}) };
      const { status, body } = await callDoor(pair.installation, replica, call).catch((error: unknown) => ({
        status: 0,
        body: String(error),
      }));
      if (status === 200) answeredBy.set(body, (answeredBy.get(body) ?? 0) + 1);
      else failures.push(`${method} ${status} ${body}`);
    }
  };
  const workers = Promise.all(Array.from({ length: 8 }, (_, index) => worker(index)));
  return {
    failures,
    answeredBy,
    end: async () => {
      over.abort();
      await workers;
      agent.destroy();
    },
  };
}

async function stop(pod: Pod): Promise<void> {
  await agents.get(pod)?.stop();
}

it('one after the other is told to end and comes back: no request fails, of any method', async () => {
  const under = load(['GET', 'POST']);
  for (const pod of PODS) {
    await eventually(() => expect([...under.answeredBy.keys()].sort()).toEqual([...PODS]));
    const beganMs = performance.now();
    await stop(pod);
    // Nothing was cut: it waited for what ran, and for nothing else.
    expect(performance.now() - beganMs).toBeLessThan(DRAIN_MS);
    await eventually(async () => {
      under.answeredBy.clear();
      await delay(200);
      expect(under.answeredBy.get(pod)).toBeUndefined();
    });
    await start(pod);
  }
  await under.end();
  expect(under.failures).toEqual([]);
});

it('one dies without a word, again and again: no request that may be repeated fails', async () => {
  const under = load(['GET']);
  for (let times = 0; times < 4; times += 1) {
    const pod = PODS[times % 2] as Pod;
    await stop(pod);
    // With no time to end what runs: its links are cut in the middle.
    await start(pod, 0);
    await eventually(() => expect([...under.answeredBy.keys()].sort()).toEqual([...PODS]));
    under.answeredBy.clear();
    await delay(100);
  }
  await under.end();
  expect(under.failures).toEqual([]);
});

it('what runs through one is its own: it ends with that one, and nothing of the other’s does', async () => {
  // More than there are tunnels that were kept, of which all may lead to one.
  const requests = Array.from({ length: 32 }, (_, index) => {
    const replica = index % 2 === 0 ? pair.a : pair.b;
    const outgoing = openDoor(pair.installation, replica, { path: '/clusters/demo/held' });
    outgoing.end();
    return outgoing;
  });
  const answers = await Promise.all(requests.map(async (each) => (await once(each, 'response')) as [IncomingMessage]));
  await eventually(() => expect(new Set(held.values())).toEqual(new Set(PODS)));
  const ends = answers.map(async ([answer]) => {
    let body = '';
    try {
      for await (const chunk of answer) body += String(chunk);
    } catch {
      return 'broke off';
    }
    return body;
  });
  const counts = [...held.values()];
  await stop('one');
  for (const [response, pod] of held) if (pod === 'other') response.end(' to the end');
  const found = await Promise.all(ends);
  expect(found.filter((end) => end === 'broke off')).toHaveLength(counts.filter((pod) => pod === 'one').length);
  expect(found.filter((end) => end === 'other to the end')).toHaveLength(
    counts.filter((pod) => pod === 'other').length,
  );
});
