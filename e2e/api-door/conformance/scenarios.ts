import type { Findings } from '../../chaos/findings.js';
import type { Scenario } from '../../chaos/scenario.js';
import { CASES } from './cases.js';
import type { Sizes } from './sizes.js';
import type { ConformanceWorld, Way } from './world.js';

/** Each of upstream's cases is a scenario, so that a soak goes on where it was. */
export const CONFORMANCE_SCENARIOS: readonly Scenario<ConformanceWorld, Sizes>[] = Object.entries(CASES).flatMap(
  ([group, names]) => names.map((name, index) => scenarioOf(`${group}${index + 1}`, name)),
);

function scenarioOf(letter: string, name: string): Scenario<ConformanceWorld, Sizes> {
  return {
    letter,
    title: name,
    run: async (world, sizes, findings) => {
      const passes = (way: Way) => passesWithin(sizes.tries, { world, name, way, findings });
      // One that does not pass directly shows nothing of the door: it is not for this list.
      if (await passes('directly')) findings.must(await passes('through'), 'it does not pass through the door');
      else findings.must(false, 'it does not pass without the door');
    },
  };
}

interface Tried {
  readonly world: ConformanceWorld;
  readonly name: string;
  readonly way: Way;
  readonly findings: Findings;
}

async function passesWithin(tries: number, { world, name, way, findings }: Tried): Promise<boolean> {
  const what = way === 'directly' ? 'directly' : 'by the replica without the link';
  for (let attempt = 1; attempt <= tries; attempt++) {
    findings.doing = `${what}, try ${attempt}`;
    const { passed, said } = await world.run(name, way);
    findings.figure(attempt === 1 ? what : `${what}, try ${attempt}`, said);
    if (passed) return true;
  }
  return false;
}
