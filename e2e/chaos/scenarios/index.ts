import type { Scenario } from '../scenario.js';
import { busAway } from './bus-away.js';
import { cancels } from './cancels.js';
import { duplex } from './duplex.js';
import { exactness } from './exactness.js';
import { frozenAgent } from './frozen-agent.js';
import { frozenGateway } from './frozen-gateway.js';
import { killedReplicas } from './killed-replicas.js';
import { reconnects } from './reconnects.js';
import { rollout } from './rollout.js';
import { staleRoute } from './stale-route.js';
import { stalls } from './stalls.js';

/** In the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  killedReplicas,
  rollout,
  frozenAgent,
  frozenGateway,
  busAway,
  staleRoute,
  reconnects,
  exactness,
  cancels,
  stalls,
  duplex,
];
