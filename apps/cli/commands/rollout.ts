import { Argument, type Command } from 'commander';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { waveTexts } from '../output/gitops-view.js';
import { printHint, printJson, printLines, printResult, printTable } from '../output/print.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { Rollout, RolloutList } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const ROLLOUTS = '/v1/gitops/rollouts';

const HELP = `
A change of an assignment reaches its clusters in waves: the first few, then more, once these have been healthy for a while. A wave with too
many failures pauses it or rolls it back, as the assignment says. A rollout is named by its id, or by its assignment while it runs.

Examples:
  fairlead rollout list
  fairlead rollout pause shop
  fairlead rollout roll-back shop`;

const STEPS = {
  pause: 'let no more clusters begin',
  resume: 'go on with a paused one',
  abort: 'end it where it is: no cluster is changed back',
  'roll-back': 'bring its clusters back to what they had',
} as const;

/** rollout list, pause, resume, abort, roll-back. */
export function addRolloutCommands(program: Command, io: Io): void {
  const rollout = program
    .command('rollout')
    .summary('watch and steer changes on their way to clusters')
    .description('Changes of assignments on their way to clusters.')
    .addHelpText('after', HELP);
  rollout
    .command('list')
    .alias('ls')
    .summary('list the rollouts')
    .description('List the rollouts, newest first.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  for (const [step, summary] of Object.entries(STEPS)) {
    rollout
      .command(step)
      .summary(summary)
      .description(`Of a rollout: ${summary}.`)
      .addArgument(new Argument('<rollout>', 'its id, or the name of its assignment'))
      .addOption(outputOption('table', 'json'))
      .action((named: string, options: Printed) => steer(io, named, step, options));
  }
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const rollouts = await withApi(io, allRollouts);
  if (output === 'json') return printJson(io, { rollouts });
  if (output === 'name') return printLines(io, ...rollouts.filter(isOpen).map(({ id }) => id));
  if (rollouts.length === 0) return printHint(io, 'no rollouts yet: one begins with each change of an assignment');
  printTable(
    io,
    ['ID', 'ASSIGNMENT', 'STATE', 'WAVE', 'HEALTHY', 'FAILED', 'WAITING', 'AGE', 'REASON'],
    rollouts.map((each) => [
      each.id,
      each.assignment,
      each.state,
      ...waveTexts(each),
      ageText(each.startedAt, io.now()),
      each.reason ?? '',
    ]),
  );
}

async function steer(io: Io, named: string, step: string, { output }: Printed): Promise<void> {
  const steered = await withApi(io, async (api) => {
    const path = `${itemPath(ROLLOUTS, await idOf(api, named))}/steps`;
    return api.ask(Rollout, path, { method: 'POST', body: { step } });
  });
  printResult(io, output, steered, `rollout of ${steered.assignment}: ${steered.state}`);
}

async function idOf(api: ApiClient, named: string): Promise<string> {
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(named)) return named;
  const found = (await allRollouts(api)).find((each) => each.assignment === named && isOpen(each));
  if (found) return found.id;
  throw failure('NOT_FOUND', `no rollout of ${named} is under way`, 'fairlead rollout list');
}

function allRollouts(api: ApiClient): Promise<Rollout[]> {
  return allPages(api, RolloutList, ROLLOUTS, (page) => page.rollouts);
}

function isOpen({ endedAt }: Rollout): boolean {
  return endedAt === null;
}
