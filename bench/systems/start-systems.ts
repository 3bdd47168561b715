import { mkdir } from 'node:fs/promises';
import { buildPeer, type GoPrograms } from '../load/go-programs.js';
import type { SystemName } from '../rows.js';
import { writeCertificates } from './certificates.js';
import { startFairlead } from './fairlead.js';
import { startKonnectivity } from './konnectivity.js';
import { startRelays } from './relays.js';
import { PLAIN, type System } from './system.js';
import { startTarget, type Target } from './target.js';

export interface StartOptions {
  readonly programs: GoPrograms;
  readonly wanted: readonly SystemName[];
  /** A folder of this run. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Starts every wanted system in front of one target; all of it ends with `owned`, in the opposite order. */
export async function startSystems(options: StartOptions, owned: AsyncDisposableStack): Promise<System[]> {
  const { programs, wanted, dir, say, signal } = options;
  const wants = (...names: SystemName[]): boolean => names.some((name) => wanted.includes(name));
  say('starting the target and the relays');
  const target = await startTarget(programs.target, dir, owned);
  const certificates = await writeCertificates(`${dir}/certificates`, ['127.0.0.1']);
  const systems: System[] = [direct(target)];
  const relay = { program: programs.relay, certificates, target: target.address, banner: target.banner, dir };
  for (const name of ['relay-node', 'relay-go', 'relay-go-tls'] as const) {
    if (wants(name)) systems.push(await startRelays(name, relay, owned));
  }
  if (wants('konnectivity')) {
    const peer = await buildPeer(say, signal);
    systems.push(await startKonnectivity({ programs: peer, certificates, target, dir }, owned));
  }
  if (wants('fairlead', 'fairlead-relayed')) {
    await mkdir(`${dir}/fairlead`);
    systems.push(...(await startFairlead({ target, dir: `${dir}/fairlead`, say, signal }, owned)));
  }
  return systems.filter(({ name }) => wants(name));
}

function direct({ address, banner }: Target): System {
  const nothing = (): Promise<void> => Promise.resolve();
  return {
    name: 'direct',
    entrance: { way: PLAIN, target: address, banner },
    pids: () => [],
    kill: nothing,
    start: nothing,
  };
}
