import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { createCsr, generatePrivateKey } from '@fairlead/pki';
import type { Stack } from '@fairlead/stack';
import { createDoorClient, type DoorClient } from '../../support/connect-door.js';
import { https } from '../../support/https.js';
import type { TcpTarget } from '../../support/tcp-target.js';
import { adminToken } from '../../support/test-stack.js';
import { dial, ping, roundTrip, type Way } from '../../support/transfers.js';

export interface LoadOptions {
  readonly stack: Stack;
  readonly target: TcpTarget;
  /** Clusters whose agents open the target; each is asked in turn through every door. */
  readonly clusters: readonly string[];
  /** How long certificates live: the client replaces its own a few times in that time. */
  readonly lifeSeconds: number;
}

/** Requests that go on and on through every door, and connections that stay. */
export interface Load extends AsyncDisposable {
  readonly asked: number;
  /** What failed, and with what. */
  readonly failures: readonly string[];
}

const PAUSE_MS = 20;
const KEPT_PER_DOOR = 3;
const CLIENT = 'load';

/** Starts it; from then on every request counts. */
export async function startLoad(options: LoadOptions): Promise<Load> {
  const { stack, lifeSeconds } = options;
  const stop = new AbortController();
  const counts = { asked: 0, failures: [] as string[] };
  const client = await renewingClient(options, stop.signal);
  const ways = waysOf(options, client.current);
  const kept = await Promise.all(ways.filter((_, index) => index < KEPT_PER_DOOR * stack.gateways.length).map(keep));
  const token = await adminToken(stack);
  const note = async (what: string, ask: () => Promise<unknown>): Promise<void> => {
    counts.asked += 1;
    await ask().catch((error: unknown) => counts.failures.push(`${what}: ${String(error)}`));
  };
  const loops = [
    forEver(stop.signal, async (round) => {
      const way = ways[round % ways.length] as () => Way;
      await note(`a new connection to ${way().cluster} through ${way().connectUrl}`, () => ping(way()));
    }),
    forEver(stop.signal, async (round) => {
      const { socket, name } = kept[round % kept.length] as Kept;
      await note(`the connection that stays to ${name}`, () => roundTrip(socket));
    }),
    forEver(stop.signal, async (round) => {
      const { doorUrl, name } = stack.gateways[round % stack.gateways.length] ?? { doorUrl: '', name: '' };
      await note(`the Kubernetes API through ${name}`, () => askKubernetes(stack, doorUrl, token));
      await sleep(PAUSE_MS * 5, undefined, { signal: stop.signal }).catch(() => undefined);
    }),
    client.keepRenewing((lifeSeconds * 1_000) / 4, (error) => counts.failures.push(`renewing the client: ${error}`)),
  ];
  return {
    get asked() {
      return counts.asked;
    },
    failures: counts.failures,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all(loops);
      for (const { socket } of kept) socket.destroy();
    },
  };
}

interface Kept {
  readonly name: string;
  readonly socket: TLSSocket;
}

async function keep(way: () => Way): Promise<Kept> {
  const socket = await dial(way());
  socket.write('echo kept 0\n');
  await roundTrip(socket);
  return { name: `${way().cluster} through ${way().connectUrl}`, socket };
}

function waysOf({ stack, clusters, target }: LoadOptions, client: () => DoorClient): (() => Way)[] {
  return clusters.flatMap((cluster) =>
    stack.gateways.map(({ connectUrl }) => (): Way => ({ connectUrl, client: client(), cluster, target })),
  );
}

async function askKubernetes(stack: Stack, doorUrl: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const { status, body } = await https(stack, `${doorUrl}/clusters/demo/api/v1/namespaces/default`, { headers });
  if (status !== 200) throw new Error(`${status} ${body.slice(0, 200)}`);
}

async function renewingClient({ stack, clusters }: LoadOptions, signal: AbortSignal) {
  await using made = await createDoorClient(stack, CLIENT, clusters);
  let client: DoorClient = made;
  return {
    current: () => client,
    keepRenewing: (everyMs: number, onFailure: (error: string) => void): Promise<void> =>
      forEver(signal, async () => {
        await sleep(everyMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        client = await certifiedAnew(stack, client, clusters).catch((error: unknown) => {
          onFailure(String(error));
          return client;
        });
      }),
  };
}

/** As the command does it, without a process for each time: certificates live for seconds here. */
async function certifiedAnew(stack: Stack, client: DoorClient, clusters: readonly string[]): Promise<DoorClient> {
  const key = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(key)).toString('base64');
  const { status, body } = await https(
    stack,
    `${stack.api.url}/v1/clients`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${await adminToken(stack)}`, 'content-type': 'application/json' },
    },
    JSON.stringify({ name: client.name, clusters, csr }),
  );
  if (status !== 201) throw new Error(`${status} ${body.slice(0, 200)}`);
  const { chain } = JSON.parse(body) as { chain: string[] };
  return { ...client, key, cert: chain.join('') };
}

async function forEver(signal: AbortSignal, act: (round: number) => Promise<void>): Promise<void> {
  for (let round = 0; !signal.aborted; round += 1) {
    await act(round);
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}
