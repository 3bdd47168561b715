import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { GatewayAddresses } from '@fairlead/stack';
import { isReady } from './replicas.js';

/** What stands before the replicas' doors: it gives each new connection to a replica that says it is ready, in turn. */
export interface DoorBalancer extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Connections that it could give to nobody. */
  readonly turnedAway: number;
}

const LOOK_MS = 100;

export async function startDoorBalancer(gateways: readonly GatewayAddresses[]): Promise<DoorBalancer> {
  const ready = new Set<GatewayAddresses>();
  const look = async (): Promise<void> => {
    for (const gateway of gateways) {
      if (await isReady(gateway)) ready.add(gateway);
      else ready.delete(gateway);
    }
  };
  await look();
  const looking = setInterval(() => void look(), LOOK_MS);
  const open = new Set<Socket>();
  let [turn, turnedAway] = [0, 0];
  const server = createServer((client) => {
    const candidates = gateways.filter((gateway) => ready.has(gateway));
    turn += 1;
    const chosen = candidates[turn % candidates.length];
    if (chosen === undefined) {
      turnedAway += 1;
      client.destroy();
      return;
    }
    join(client, connect(Number(new URL(chosen.doorUrl).port), '127.0.0.1'), open);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get turnedAway() {
      return turnedAway;
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(looking);
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}

function join(client: Socket, door: Socket, open: Set<Socket>): void {
  const end = (): void => {
    client.destroy();
    door.destroy();
  };
  for (const socket of [client, door]) {
    open.add(socket);
    socket.once('error', end).once('close', () => {
      open.delete(socket);
      end();
    });
  }
  client.pipe(door).pipe(client);
}
