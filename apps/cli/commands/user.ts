import type { Command } from 'commander';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printList } from '../output/print.js';
import { UserList } from '../session/access-answers.js';
import { allPages } from '../session/all-pages.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const LIST_HELP = `
Nobody is made here: who logs in for the first time is here from then on, and may do nothing before it is granted.

Examples:
  fairlead user list
  fairlead grant list --user corp:alice`;

/** user list. */
export function addUserCommands(program: Command, io: Io): void {
  const user = program
    .command('user')
    .summary('see who has logged in')
    .description('People and programs who have logged in by an issuer.');
  user
    .command('list')
    .alias('ls')
    .summary('list who has logged in')
    .description('List the people and programs who have logged in, with the groups that they had then.')
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', LIST_HELP)
    .action((options: Printed) => list(io, options));
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const users = await withApi(io, (api) => allPages(api, UserList, '/v1/users', (page) => page.users));
  printList(io, output, {
    list: { users },
    name: ({ name }) => name,
    none: ['nobody has logged in by an issuer yet', 'next: fairlead issuer list'],
    heading: ['NAME', 'KIND', 'ISSUER', 'GROUPS', 'LAST LOGIN'],
    row: (each) => [
      each.name,
      each.kind,
      each.issuer,
      each.groups.join(', '),
      `${ageText(each.lastLoginAt, io.now())} ago`,
    ],
  });
}
