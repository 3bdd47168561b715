import { z } from 'zod';
import { startTrial } from './trial.js';
import type { Sizes } from './sizes.js';
import { roll, type RollsWorld } from './world.js';

const Verdict = z.object({
  context: z.string(),
  events: z.int(),
  told: z.int(),
  skipped: z.int(),
  missed: z.int(),
  twice: z.int(),
  lists: z.int(),
  watches: z.int(),
  listErrors: z.int(),
  watchErrors: z.int(),
  sameAtEnd: z.boolean(),
});

/** What one informer saw; the words are explained where they are counted, in `client-go-trial`. */
export type Verdict = z.infer<typeof Verdict>;

export interface Watched {
  readonly rolls: number;
  /** Of the informers through the balancer and through each replica, in the order of the world's contexts. */
  readonly verdicts: readonly Verdict[];
}

const READY_WITHIN_MS = 90_000;
const JUDGED_WITHIN_MS = 300_000;

/** Runs an informer by each way, and a writer past them all, while the replicas are rolled in turn again and again. */
export async function watchWhileRolling(
  world: RollsWorld,
  sizes: Sizes,
  say: (doing: string) => void = () => undefined,
): Promise<Watched> {
  const { program, kubeconfig, contexts, direct, stack } = world;
  await using trial = startTrial(program.path, [
    'informer',
    `--kubeconfig=${kubeconfig}`,
    `--contexts=${contexts.join(',')}`,
    `--direct=${direct}`,
    `--namespace=watched-${Date.now()}`,
    `--writes-per-second=${sizes.writesPerSecond}`,
  ]);
  await trial.hasTold(1, READY_WITHIN_MS);
  const until = performance.now() + sizes.informersMs;
  let rolls = 0;
  while (performance.now() < until) {
    await roll(world, stack.gateways[rolls % stack.gateways.length]!.name, sizes.pauseMs);
    rolls += 1;
    say(`${rolls} rolls`);
  }
  const [, ...verdicts] = await trial.end(JUDGED_WITHIN_MS);
  return { rolls, verdicts: z.array(Verdict).parse(verdicts) };
}
