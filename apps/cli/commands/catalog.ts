import type { Command } from 'commander';
import { z } from 'zod';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { CatalogList, CatalogRepository } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { daysOrNever, outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const HOST_MS = 90_000;
const CATALOG = '/v1/catalog-repositories';

const ADD_HELP = `
Each cluster that follows it gets a read-only deploy key of its own there. No cluster ever has the token of the Git host.

Examples:
  fairlead catalog add catalog --host main --repo platform/catalog
  fairlead catalog add catalog --host main --repo platform/catalog --create    # make it if it is not there
  fairlead catalog add catalog --host main --repo platform/catalog --rotate-keys-every 30d    # again, to change it

Keys are replaced every 90 days unless said otherwise; where somebody has to add keys by hand, never unless said otherwise.

Next: fairlead cluster create demo --gitops flux --repo catalog`;

interface AddOptions extends Printed {
  readonly host: string;
  readonly repo: string;
  readonly create?: true;
  /** Seconds; 0: never. */
  readonly rotateKeysEvery?: number;
}

/** catalog add, list, rm. */
export function addCatalogCommands(program: Command, io: Io): void {
  const catalog = program
    .command('catalog')
    .summary('say which repositories clusters may follow')
    .description('Repositories that the GitOps tools of clusters may follow.');
  catalog
    .command('add <name>')
    .summary('add a repository')
    .description(
      'Add a repository of a Git host, under a name of its own; or change how often its deploy keys are replaced.',
    )
    .requiredOption('--host <git-host>', 'the Git host it is on: fairlead git-host list')
    .requiredOption('--repo <owner/name>', 'the repository there')
    .option('--create', 'make it, private, if it is not there')
    .option(
      '--rotate-keys-every <days>',
      'replace deploy keys when they are so old, such as 90d; or never',
      daysOrNever,
    )
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ADD_HELP)
    .action((name: string, options: AddOptions) => add(io, name, options));
  catalog
    .command('list')
    .alias('ls')
    .summary('list the repositories')
    .description('List the repositories that clusters may follow.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  catalog
    .command('rm <name>')
    .summary('forget a repository')
    .description('Forget a repository. Nothing happens to it; refused while an assignment names it.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((name: string, options: Confirmed) => remove(io, name, options));
}

async function add(io: Io, name: string, options: AddOptions): Promise<void> {
  const { host: gitHost, repo: path, create, rotateKeysEvery, output } = options;
  const rotation = rotateKeysEvery === undefined ? {} : { rotateKeysEverySeconds: rotateKeysEvery || null };
  const body = { name, gitHost, path, ...(create ? { create } : {}), ...rotation };
  const ask = { method: 'POST', body, deadlineMs: HOST_MS } as const;
  const repository = await withApi(io, (api) => api.ask(CatalogRepository, CATALOG, ask));
  if (output === 'json') return printJson(io, repository);
  printLines(io, `catalog repository ${repository.name} added: ${repository.sshUrl}`);
  printHint(io, `next: fairlead cluster create demo --gitops flux --repo ${repository.name}`);
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { repositories } = await withApi(io, (api) => api.ask(CatalogList, CATALOG));
  printList(io, output, {
    list: { repositories },
    name: ({ name }) => name,
    none: ['no repositories yet', 'next: fairlead catalog add --help'],
    heading: ['NAME', 'GIT HOST', 'REPOSITORY', 'BRANCH', 'KEYS', 'SSH'],
    row: (each) => [each.name, each.gitHost, each.path, each.defaultBranch ?? '', paceOf(each), each.sshUrl],
  });
}

/** How long a deploy key is used there. */
function paceOf({ rotateKeysEverySeconds }: z.infer<typeof CatalogRepository>): string {
  return rotateKeysEverySeconds === null ? 'for ever' : `${Math.round(rotateKeysEverySeconds / 86_400)}d`;
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  if (!(await confirmed(io, `Forget the catalog repository ${name}?`, yes))) return printLines(io, 'nothing removed');
  await withApi(io, (api) => api.ask(z.null(), itemPath(CATALOG, name), { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true }, `catalog repository ${name} forgotten`);
}
