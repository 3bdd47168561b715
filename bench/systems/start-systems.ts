import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPeer, type GoPrograms } from '../load/go-programs.js';
import type { SystemName } from '../rows.js';
import { writeCertificates, type Certificates } from './certificates.js';
import { startFairlead } from './fairlead.js';
import { startKonnectivity } from './konnectivity.js';
import { LOCAL, openFarLeg, type Leg } from './leg.js';
import { startRelays } from './relays.js';
import { PLAIN, type System } from './system.js';
import { startTarget, type Target } from './target.js';

export interface StartOptions {
  readonly programs: GoPrograms;
  readonly wanted: readonly SystemName[];
  /** Whether to start the far ones too; only in a network namespace of our own. */
  readonly far: boolean;
  /** A folder of this run. */
  readonly dir: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The systems, and those of them whose agent is 50 ms away. */
export interface Systems {
  readonly near: readonly System[];
  readonly far: readonly System[];
}

/** One place for agents and their target. */
interface Place {
  readonly leg: Leg;
  readonly target: Target;
  readonly certificates: Certificates;
  readonly dir: string;
}

/** Starts every wanted system; all of it ends with `owned`, in the opposite order. */
export async function startSystems(options: StartOptions, owned: AsyncDisposableStack): Promise<Systems> {
  const { programs, wanted, dir, say, signal } = options;
  say('starting the targets and the relays');
  const near = await openPlace('near', LOCAL, options, owned);
  const leg = options.far ? await openFarLeg(programs.wan, dir, owned) : undefined;
  const far = leg && (await openPlace('far', leg, options, owned));
  const nearSystems = await startPlain(near, ['relay-node', 'relay-go', 'relay-go-tls'], options, owned);
  const farSystems = far ? await startPlain(far, ['relay-go-tls'], options, owned) : [];
  if (wanted.includes('fairlead') || wanted.includes('fairlead-relayed')) {
    await mkdir(join(dir, 'fairlead'));
    const { target } = near;
    const fairlead = await startFairlead({ target, far, dir: join(dir, 'fairlead'), say, signal }, owned);
    nearSystems.push(...fairlead.near);
    farSystems.push(...fairlead.far);
  }
  const isWanted = ({ name }: System): boolean => wanted.includes(name);
  return { near: nearSystems.filter(isWanted), far: farSystems.filter(isWanted) };
}

async function openPlace(
  name: string,
  leg: Leg,
  { programs, dir }: StartOptions,
  owned: AsyncDisposableStack,
): Promise<Place> {
  const folder = join(dir, name);
  await mkdir(folder);
  const addresses = [...new Set(['127.0.0.1', leg.gatewayHost, leg.agentHost])];
  const certificates = await writeCertificates(join(folder, 'certificates'), addresses);
  return { leg, target: await startTarget(programs.target, leg, folder, owned), certificates, dir: folder };
}

/** The direct way, relays and Konnectivity: what needs no installation of its own. */
async function startPlain(
  place: Place,
  relays: readonly ('relay-node' | 'relay-go' | 'relay-go-tls')[],
  { programs, wanted, say, signal }: StartOptions,
  owned: AsyncDisposableStack,
): Promise<System[]> {
  const systems: System[] = [direct(place.target)];
  for (const name of relays) {
    if (wanted.includes(name)) systems.push(await startRelays(name, { ...place, program: programs.relay }, owned));
  }
  if (wanted.includes('konnectivity')) {
    systems.push(await startKonnectivity({ ...place, programs: await buildPeer(say, signal) }, owned));
  }
  return systems;
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
