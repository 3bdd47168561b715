import { Option, type Command } from 'commander';
import { z } from 'zod';
import { failure } from '../failure.js';
import { bodyOf, changeAssignment, findAssignment } from '../gitops/assignments.js';
import type { Io } from '../io.js';
import { printAssignment, selectorText } from '../output/gitops-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { Assignment, AssignmentList, Breaker } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { addAssignCommand } from './gitops-assign.js';
import { addRotateKeyCommand } from './gitops-rotate-key.js';
import { addGitOpsStatusCommands } from './gitops-status.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const HELP = `
A first tour:
  fairlead git-host add main --kind github --url https://github.com --token-file github.token
  fairlead git-host scan main && fairlead git-host approve main
  fairlead catalog add catalog --host main --repo platform/catalog
  fairlead bundle import flux.yaml --tool flux --version v2.7.3
  fairlead cluster create demo --gitops flux --repo catalog
  fairlead cluster import demo | kubectl apply -f -
  fairlead gitops status demo --wait`;

const BREAKER_HELP = `
It opens by itself when many clusters come to fail alike, and holds repairs and rollouts of all. It closes by itself when enough of them
have recovered, or with --reset: then what it held goes on.`;

const ASSIGNMENTS = '/v1/gitops/assignments';

type Remove = 'keep' | 'tool' | 'everything';

const CONSEQUENCES: Readonly<Record<Remove, string>> = {
  keep: 'What is in its clusters stays, and nobody looks after it.',
  tool: 'The tool is removed from its clusters; what it deployed stays.',
  everything: 'All that the tool deployed is deleted from its clusters, and then the tool.',
};

/** gitops assign, list, show, unassign, suspend, resume, status, events, rotate-key, breaker. */
export function addGitOpsCommands(program: Command, io: Io): void {
  const gitops = program
    .command('gitops')
    .summary('say what clusters run, and see how they are')
    .description('What the GitOps tools of clusters are to follow, and how they are.')
    .addHelpText('after', HELP);
  addAssignCommand(gitops, io);
  gitops
    .command('list')
    .alias('ls')
    .summary('list the assignments')
    .description('List the assignments.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  gitops
    .command('show <assignment>')
    .summary('show an assignment')
    .description('Show an assignment.')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => show(io, name, options));
  gitops
    .command('unassign <assignment>')
    .summary('remove an assignment')
    .description('Remove an assignment. Another that selects its clusters counts from then on.')
    .addOption(
      new Option('--remove <what>', 'what happens in clusters that nothing else selects')
        .choices(Object.keys(CONSEQUENCES))
        .default('keep'),
    )
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed & { remove: Remove }) => unassign(io, name, options));
  for (const suspend of [true, false]) addSuspension(gitops, io, suspend);
  addGitOpsStatusCommands(gitops, io);
  addRotateKeyCommand(gitops, io);
  gitops
    .command('breaker')
    .summary('tell whether repairs and rollouts are held')
    .description('Tell whether repairs and rollouts of the whole fleet are held.')
    .option('--reset', 'close it, and let go on what it held')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', BREAKER_HELP)
    .action((options: Printed & { reset?: true }) => breaker(io, options));
}

function addSuspension(gitops: Command, io: Io, suspend: boolean): void {
  gitops
    .command(`${suspend ? 'suspend' : 'resume'} <assignment>`)
    .summary(suspend ? 'freeze the following of its repository' : 'follow its repository again')
    .description(
      suspend
        ? 'Freeze what its clusters follow. The tool itself is still repaired. It is rolled out like any change.'
        : 'Let its clusters follow their repository again. It is rolled out like any change.',
    )
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Printed) => setSuspended(io, name, suspend, options));
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { assignments } = await withApi(io, (api) => api.ask(AssignmentList, ASSIGNMENTS));
  printList(io, output, {
    list: { assignments },
    name: ({ name }) => name,
    none: ['no assignments yet', 'next: fairlead gitops assign --help'],
    heading: ['NAME', 'CLUSTERS', 'PRIORITY', 'TOOL', 'BUNDLE', 'REPOSITORY', 'PATH', 'SUSPENDED'],
    row: (each) => [
      each.name,
      selectorText(each),
      String(each.priority),
      each.tool,
      each.bundleVersion,
      each.repository ?? '',
      each.path,
      each.suspend ? { text: 'yes', colour: 'yellow' } : 'no',
    ],
  });
}

async function show(io: Io, name: string, { output }: Printed): Promise<void> {
  const assignment = await withApi(io, (api) => api.ask(Assignment, itemPath(ASSIGNMENTS, name)));
  if (output === 'json') return printJson(io, assignment);
  printAssignment(io, assignment);
}

async function unassign(io: Io, name: string, options: Confirmed & { remove: Remove }): Promise<void> {
  const { remove, yes, output } = options;
  const question = `Remove the assignment ${name}? ${CONSEQUENCES[remove]}`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing removed');
  const path = `${itemPath(ASSIGNMENTS, name)}?remove=${remove}`;
  await withApi(io, (api) => api.ask(z.null(), path, { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true, remove }, `assignment ${name} removed`);
}

async function setSuspended(io: Io, name: string, suspend: boolean, { output }: Printed): Promise<void> {
  const assignment = await withApi(io, async (api) => {
    const known = await findAssignment(api, name);
    if (!known) throw failure('NOT_FOUND', `there is no assignment ${name}`, 'fairlead gitops list');
    return changeAssignment(api, name, known, { ...bodyOf(known), suspend });
  });
  if (output === 'json') return printJson(io, assignment);
  printLines(io, `assignment ${assignment.name} ${suspend ? 'suspended' : 'resumed'}`);
  printHint(io, 'how far it is: fairlead rollout list');
}

async function breaker(io: Io, { reset, output }: Printed & { reset?: true }): Promise<void> {
  const shown = await withApi(io, (api) =>
    reset ? api.ask(Breaker, '/v1/gitops/breaker/reset', { method: 'POST' }) : api.ask(Breaker, '/v1/gitops/breaker'),
  );
  if (output === 'json') return printJson(io, shown);
  const { state, code, clusters, of, since } = shown;
  if (state === 'closed') return printLines(io, 'closed: nothing is held');
  printLines(
    io,
    `${state} since ${since ?? '?'}: ${clusters} of ${of} clusters came to have ${code ?? 'the same problem'}`,
  );
  printHint(io, 'when it is put right: fairlead gitops breaker --reset');
}
