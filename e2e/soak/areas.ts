import { AUDIT_SCENARIOS } from '../audit/kills/scenarios.js';
import { scaled as scaledAudit } from '../audit/kills/sizes.js';
import { startAuditWorld } from '../audit/kills/world.js';
import { CONFORMANCE_SCENARIOS } from '../api-door/conformance/scenarios.js';
import { scaled as scaledConformance } from '../api-door/conformance/sizes.js';
import { startConformanceWorld } from '../api-door/conformance/world.js';
import { ROLL_SCENARIOS } from '../api-door/rolls/scenarios.js';
import { scaled as scaledRolls } from '../api-door/rolls/sizes.js';
import { startRollsWorld } from '../api-door/rolls/world.js';
import type { AnyWorld } from '../chaos/any-world.js';
import type { Scenario } from '../chaos/scenario.js';
import { SCENARIOS } from '../chaos/scenarios/index.js';
import { scaled as scaledTunnel } from '../chaos/sizes.js';
import { startWorld } from '../chaos/world.js';
import { FLOOD_SCENARIOS } from '../flood/scenarios.js';
import { scaled as scaledFlood } from '../flood/sizes.js';
import { startFloodWorld } from '../flood/world.js';
import { NO_WORLD, TRUST_SCENARIOS } from '../trust/scenarios/index.js';
import { scaled as scaledTrust } from '../trust/sizes.js';
import type { Soaked } from './report.js';
import { runSoak, type Watched } from './run-soak.js';

/** One rests from its flood while the next one is flooded. */
const REPLICAS = 2;

/** They wait far more than they compute. */
const CASES_AT_ONCE = 4;

/** What can be soaked. */
export interface Area extends Soaked {
  readonly beginning: string;
  readonly scenarios: readonly Titled[];
  /** Makes what the scenarios share. */
  open(): Promise<OpenArea>;
}

export interface Titled {
  readonly letter: string;
  readonly title: string;
}

export interface OpenArea extends AsyncDisposable {
  /** What its processes said last. */
  readonly log: readonly string[];
  run(letters: readonly string[], scale: number, watched: Watched): Promise<void>;
}

interface Parts<W extends AnyWorld, S extends { readonly judgesTimes: boolean }> {
  readonly start: () => Promise<{ readonly world: W; readonly log: readonly string[] }>;
  readonly sizes: (scale: number) => S;
  readonly scenarios: readonly Scenario<W, S>[];
  /** Left out: one scenario after the other. */
  readonly lanes?: number;
}

function area<W extends AnyWorld, S extends { readonly judgesTimes: boolean }>(
  about: Omit<Area, 'open' | 'scenarios'>,
  { start, sizes, scenarios, lanes = 1 }: Parts<W, S>,
): Area {
  return {
    ...about,
    scenarios,
    open: async () => {
      const { world, log } = await start();
      return {
        log,
        run: (letters, scale, watched) => {
          const chosen = scenarios.filter(({ letter }) => letters.includes(letter));
          return runSoak(world, { scenarios: chosen, sizes: sizes(scale), lanes, ...watched });
        },
        [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
      };
    },
  };
}

export const AREAS: readonly Area[] = [
  area(
    {
      name: 'tunnel',
      title: 'the tunnel',
      readme: 'e2e/chaos/README.md',
      beginning: 'starting three replicas and two agents',
    },
    {
      start: async () => {
        const world = await startWorld();
        return { world, log: world.journal.lines };
      },
      sizes: scaledTunnel,
      scenarios: SCENARIOS,
    },
  ),
  area(
    {
      name: 'trust',
      title: 'trust',
      readme: 'e2e/trust/README.md',
      beginning: 'each scenario starts an installation of its own',
    },
    {
      start: () => Promise.resolve({ world: NO_WORLD, log: [] }),
      sizes: scaledTrust,
      scenarios: TRUST_SCENARIOS,
    },
  ),
  area(
    {
      name: 'flood',
      title: 'floods',
      readme: 'e2e/flood/README.md',
      beginning: `starting ${REPLICAS} replicas, an agent and a user`,
    },
    {
      start: async () => ({ world: await startFloodWorld(REPLICAS), log: [] }),
      sizes: scaledFlood,
      scenarios: FLOOD_SCENARIOS,
      lanes: REPLICAS,
    },
  ),
  area(
    {
      name: 'api-door',
      title: 'programs at the Kubernetes API door',
      readme: 'e2e/api-door/README.md',
      beginning: 'starting two replicas, a balancer before them and a demo cluster',
    },
    {
      start: async () => {
        const world = await startRollsWorld();
        return { world, log: world.journal.lines };
      },
      sizes: scaledRolls,
      scenarios: ROLL_SCENARIOS,
    },
  ),
  area(
    {
      name: 'audit',
      title: 'the audit log',
      readme: 'e2e/audit/README.md',
      beginning: 'starting two replicas that keep the audit as required, and a demo cluster',
    },
    {
      start: async () => {
        const world = await startAuditWorld();
        return { world, log: world.journal.lines };
      },
      sizes: scaledAudit,
      scenarios: AUDIT_SCENARIOS,
    },
  ),
  area(
    {
      name: 'conformance',
      title: 'upstream’s own tests, with and without the Kubernetes API door',
      readme: 'e2e/api-door/README.md',
      beginning: 'starting two replicas and a cluster with a real node',
    },
    {
      start: async () => {
        const world = await startConformanceWorld();
        return { world, log: world.log };
      },
      sizes: scaledConformance,
      scenarios: CONFORMANCE_SCENARIOS,
      lanes: CASES_AT_ONCE,
    },
  ),
];
