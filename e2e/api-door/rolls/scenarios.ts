import type { Scenario } from '../../chaos/scenario.js';
import { electWhileRolling } from './election.js';
import { watchWhileRolling } from './informers.js';
import type { Sizes } from './sizes.js';
import type { RollsWorld } from './world.js';

const informers: Scenario<RollsWorld, Sizes> = {
  letter: 'informers',
  title: 'informers miss nothing while the replicas are rolled in turn, and do not list again and again',
  run: async (world, sizes, findings) => {
    const { rolls, verdicts } = await watchWhileRolling(world, sizes, (doing) => (findings.doing = doing));
    findings.figure('client-go', `v0${world.program.version.slice(1)}`);
    findings.figure('replicas rolled', rolls);
    findings.must(rolls > 2, 'the replicas were hardly rolled');
    findings.must(verdicts.length === world.contexts.length, `${verdicts.length} verdicts`);
    for (const verdict of verdicts) {
      const { context, events, told, skipped, missed, twice, lists, watches, listErrors, watchErrors } = verdict;
      findings.figure(
        `${context}: events told`,
        `${told} of ${events}, ${skipped} replaced by a list, ${missed} missed, ${twice} told twice`,
      );
      findings.figure(
        `${context}: requests`,
        `${lists} lists (${listErrors} came to nothing), ${watches} watches (${watchErrors})`,
      );
      findings.must(missed === 0 && told + skipped === events, `${context}: ${missed} events were missed`);
      findings.must(twice === 0, `${context}: ${twice} events were told twice`);
      findings.must(verdict.sameAtEnd, `${context}: what it holds at the end is not what there is`);
      // The first one. An accident of a busy machine may bring another, but a roll does not.
      findings.must(lists <= 1 + rolls / 4, `${context}: ${lists} lists in ${rolls} rolls`);
    }
  },
};

const election: Scenario<RollsWorld, Sizes> = {
  letter: 'election',
  title: 'an election has one leader at any time, whatever is rolled or killed',
  run: async (world, sizes, findings) => {
    const { rolls, kills, reigns, twoAtOnce, longestGapMs } = await electWhileRolling(world, sizes);
    findings.figure('replicas of leaders rolled', rolls);
    findings.figure('leaders killed', kills);
    findings.figure('times as leader', reigns.length);
    findings.figure('longest time without a leader', longestGapMs, 'ms');
    findings.must(twoAtOnce.length === 0, `two leaders at once: ${JSON.stringify(twoAtOnce)}`);
    // A leader that is killed is followed by another.
    findings.must(reigns.length > kills, `only ${reigns.length} times as leader`);
    findings.must(new Set(reigns.map(({ identity }) => identity)).size === 2, 'only one candidate ever led');
  },
};

/** Through the Kubernetes API door, on client-go. */
export const ROLL_SCENARIOS: readonly Scenario<RollsWorld, Sizes>[] = [informers, election];
