import { connect } from 'node:net';
import type { GatewayAddresses } from '@fairlead/stack';
import { startForwarder } from './forwarder.js';
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
  let [turn, turnedAway] = [0, 0];
  const forwarder = await startForwarder(() => {
    const candidates = gateways.filter((gateway) => ready.has(gateway));
    turn += 1;
    const chosen = candidates[turn % candidates.length];
    if (chosen) return connect(Number(new URL(chosen.doorUrl).port), '127.0.0.1');
    turnedAway += 1;
    return undefined;
  });
  return {
    host: forwarder.host,
    get turnedAway() {
      return turnedAway;
    },
    [Symbol.asyncDispose]: async () => {
      clearInterval(looking);
      await forwarder[Symbol.asyncDispose]();
    },
  };
}
