import type { GoPrograms } from '../load/go-programs.js';
import { startFairlead } from './fairlead.js';
import { startRelays, startServer } from './relays.js';
import type { System } from './system.js';

export interface StartOptions {
  readonly programs: GoPrograms;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Starts every system in front of one server; all of it ends with `owned`, in the opposite order. */
export async function startSystems(options: StartOptions, owned: AsyncDisposableStack): Promise<System[]> {
  const { programs, say, signal } = options;
  say('starting the server and the relays');
  const direct = await startServer(programs.server, owned);
  const relayNode = await startRelays('relay-node', programs.relay, direct, owned);
  const relayGo = await startRelays('relay-go', programs.relay, direct, owned);
  const fairlead = await startFairlead({ server: direct, say, signal }, owned);
  return [direct, relayNode, relayGo, ...fairlead];
}
