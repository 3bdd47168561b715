import { Option, type Command } from 'commander';
import { usage, failure } from '../failure.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printNotice } from '../output/print.js';
import { pagesOf } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { EndedSessions, SessionList, type Session } from '../session/session-answers.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

/** Pages that one listing asks for: thousands of tunnels are no list for people, and each page is a question to all gateways. */
const MAX_PAGES = 20;
/** As `PassageKind` of the contracts, which this program does not bring along. */
export const KINDS = ['request', 'watch', 'log', 'exec', 'attach', 'port-forward', 'proxy', 'tunnel', 'egress'];

const LIST_HELP = `
Everything that goes through a door of any gateway now. Administrators see all of it, others what is their own.

Examples:
  fairlead session list --cluster prod
  fairlead session list --kind exec
  fairlead session list --user corp:alice -o json`;

const END_HELP = `
It ends at once, and whoever was cut off is told the reason. They may begin again: what they may do is said by grants. To take that away:
fairlead grant delete, fairlead access lockdown, fairlead api-token revoke.

Examples:
  fairlead session end 0b6f1f2e-4c0d-4f9e-9a53-6a1f3c1d7a10
  fairlead session end --user corp:alice --cluster prod --reason 'the incident is over'`;

interface Filter {
  readonly cluster?: string;
  readonly user?: string;
  readonly kind?: string;
}

interface EndOptions extends Filter, Confirmed {
  readonly reason?: string;
}

/** session list, end. */
export function addSessionsCommands(program: Command, io: Io): void {
  const session = program.command('session').summary('who is where now, and what for').description('Who is where now.');
  filtered(session.command('list'))
    .summary('list what goes through the doors now')
    .description('List requests, watches, logs, shells, port-forwards and tunnels that have not ended.')
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', LIST_HELP)
    .action((options: Filter & Printed) => list(io, options));
  filtered(session.command('end [id]'))
    .summary('end one of them, or several')
    .description('End one of them, or all that the options mean.')
    .option('--reason <text>', 'why; whoever is cut off sees it')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', END_HELP)
    .action((id: string | undefined, options: EndOptions) => end(io, id, options));
}

function filtered(command: Command): Command {
  return command
    .option('--cluster <name>', 'only those to or from this cluster')
    .option('--user <name>', 'only those of this user or client')
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(KINDS));
}

async function list(io: Io, { output, ...filter }: Filter & Printed): Promise<void> {
  const query = new URLSearchParams(filterOf(filter)).toString();
  const path = `/v1/sessions${query && `?${query}`}`;
  const { sessions, more, silent } = await withApi(io, (api) => openSessions(api, path));
  if (output === 'json') printJson(io, { sessions, more, silent });
  else {
    printList(io, output, {
      list: { sessions },
      name: ({ id }) => id,
      none: ['nothing goes through the doors now'],
      heading: ['ID', 'KIND', 'USER', 'CLUSTER', 'WHAT', 'FROM', 'GATEWAY', 'AGE'],
      row: (each) => [
        each.id,
        each.kind,
        each.as === null ? each.user : `${each.user} as ${each.as}`,
        each.cluster,
        each.target,
        each.address,
        each.gateway,
        ageText(each.since, io.now()),
      ],
    });
  }
  if (more > 0) printNotice(io, `${more} more are not shown: name a cluster, a user or a kind`);
  sayWhoIsSilent(io, silent);
}

/** Those that began first, first. `silent` names all gateways that did not answer for one page or another. */
async function openSessions(
  api: ApiClient,
  path: string,
): Promise<{ sessions: Session[]; more: number; silent: string[] }> {
  const sessions: Session[] = [];
  const silent = new Set<string>();
  let more = 0;
  let pages = 0;
  for await (const page of pagesOf(api, SessionList, path)) {
    sessions.push(...page.sessions);
    for (const gateway of page.silent) silent.add(gateway);
    more = page.more;
    pages += 1;
    if (pages === MAX_PAGES) break;
  }
  return { sessions, more, silent: [...silent].sort() };
}

async function end(io: Io, id: string | undefined, { yes, output, reason, ...filter }: EndOptions): Promise<void> {
  const meant = { ...(id === undefined ? {} : { id }), ...filterOf(filter) };
  if (Object.keys(meant).length === 0) {
    throw usage('say which sessions', 'fairlead session end ID, or --user, --cluster or --kind');
  }
  const which = id === undefined ? `all sessions with ${textOf(filterOf(filter))}` : `the session ${id}`;
  if (!(await confirmed(io, `End ${which}?`, yes))) return printLines(io, 'nothing ended');
  const body = { ...meant, ...(reason === undefined ? {} : { reason }) };
  const { ended, silent } = await withApi(io, (api) =>
    api.ask(EndedSessions, '/v1/sessions/end', { method: 'POST', body }),
  );
  if (ended === 0 && silent.length === 0) {
    throw failure('NOT_FOUND', 'there is no such session: it may have ended by itself', 'fairlead session list');
  }
  if (output === 'json') printJson(io, { ended, silent });
  else printLines(io, `${ended} ended`);
  sayWhoIsSilent(io, silent);
  if (ended > 0) printHint(io, 'they may begin again: see fairlead grant list, fairlead access lockdown');
}

function filterOf({ cluster, user, kind }: Filter): Record<string, string> {
  const said = Object.entries({ cluster, user, kind });
  return Object.fromEntries(said.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function textOf(filter: Record<string, string>): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function sayWhoIsSilent(io: Io, silent: readonly string[]): void {
  if (silent.length === 0) return;
  printNotice(io, `no answer from ${silent.join(', ')}: what goes through there is not known; try again`);
}
