import { Option, type Command } from 'commander';
import { addNarrowingOptions, narrowingOf, type NarrowingOptions } from '../access/narrowing.js';
import { addScopeOptions, scopeOf, type ScopeOptions } from '../access/scope.js';
import { subjectNamed } from '../access/subject.js';
import type { Io } from '../io.js';
import { REQUEST_HEADING, durationText, requestRow } from '../output/access-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { AccessExplanation, AccessRequest, AccessRequestList, Standing } from '../session/access-answers.js';
import { allPages } from '../session/all-pages.js';
import { itemPath } from '../session/paths.js';
import { addLockdownCommands } from './lockdown.js';
import { collected, durationSeconds, outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const REQUESTS = '/v1/access-requests';
const MY_REQUESTS = '/v1/users/me/access-requests';

const REQUEST_HELP = `
Somebody else decides: an administrator, with "fairlead access approve". What is asked for begins then, and lasts as long as it says.

Examples:
  fairlead access request --cluster prod --role edit --namespace shop --for 2h --reason 'incident 7: restart the cart'
  fairlead access requests        # yours; all of them, for an administrator`;

const EXPLAIN_HELP = `
USER is as "fairlead whoami" and a cluster's own logs call them: corp:alice, token:NAME, workload:NAME; me is you.
RESOURCE is as kubectl auth can-i has it: pods, pods/log, deployments.apps, or a path such as /metrics.
Where a grant allows it, RBAC of the cluster decides next, by the groups that the answer names.

Examples:
  fairlead access explain corp:alice prod get pods -n shop
  fairlead access explain me prod create pods/exec cart-0 -n shop
  fairlead access explain token:deployer prod patch deployments.apps -n shop`;

interface RequestOptions extends Printed, ScopeOptions, NarrowingOptions {
  readonly role: string;
  readonly for: number;
  readonly reason: string;
}

interface ListOptions extends Printed {
  readonly state: string;
  readonly mine?: true;
}

interface ExplainOptions extends Printed {
  readonly namespace?: string;
  readonly group?: readonly string[];
}

/** access request, requests, approve, reject, explain, and what is locked down. */
export function addAccessCommands(program: Command, io: Io): void {
  const access = program
    .command('access')
    .summary('ask for access, decide about it, explain it, take it all away')
    .description('Ask for access, decide about it, explain it, and take all of it away at once.');
  addRequest(access, io);
  access
    .command('requests')
    .summary('list who asks for access')
    .description('List who asks for access: all of it for an administrator, else what you asked for.')
    .addOption(
      new Option('--state <state>', 'which ones')
        .choices(['pending', 'approved', 'rejected', 'lapsed', 'all'])
        .default('pending'),
    )
    .option('--mine', 'only what you asked for')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: ListOptions) => list(io, options));
  for (const [name, what] of [
    ['approve', 'approval'],
    ['reject', 'rejection'],
  ] as const) {
    access
      .command(`${name} <id>`)
      .summary(`${name} an access request`)
      .description(
        name === 'approve'
          ? 'Approve an access request of somebody else: it begins now.'
          : 'Reject an access request of somebody else.',
      )
      .addOption(outputOption('table', 'json'))
      .action((id: string, options: Printed) => decide(io, id, what, options));
  }
  access
    .command('explain <user> <cluster> <verb> <resource> [name]')
    .summary('tell which grant decides about a request')
    .description('Tell which grant decides about a request of somebody to a cluster. It changes nothing.')
    .option('-n, --namespace <namespace>', 'the namespace of the request; none, or all, unless given')
    .addOption(new Option('--group <group>', 'as if this were a group of theirs; may be repeated').argParser(collected))
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', EXPLAIN_HELP)
    .action(
      (
        user: string,
        cluster: string,
        verb: string,
        resource: string,
        name: string | undefined,
        options: ExplainOptions,
      ) => explain(io, { user, cluster, verb, resource, name }, options),
    );
  addLockdownCommands(access, io);
}

function addRequest(access: Command, io: Io): void {
  const request = access
    .command('request')
    .summary('ask for access for a time')
    .description('Ask for access for a time.');
  addNarrowingOptions(addScopeOptions(request))
    .addOption(
      new Option('--role <role>', 'what you want to do')
        .choices(['view', 'edit', 'admin', 'cluster-admin'])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--for <duration>', 'for so long once it is approved: 30m, 2h; at most 7d')
        .argParser(durationSeconds)
        .makeOptionMandatory(),
    )
    .requiredOption('--reason <text>', 'why; whoever decides sees it')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', REQUEST_HELP)
    .action((options: RequestOptions) => ask(io, options));
}

async function ask(io: Io, options: RequestOptions): Promise<void> {
  const { role, for: seconds, reason, output } = options;
  const body = { clusters: scopeOf(options), role, narrowing: narrowingOf(options), seconds, reason };
  const request = await withApi(io, (api) => api.ask(AccessRequest, REQUESTS, { method: 'POST', body }));
  if (output === 'json') return printJson(io, request);
  printLines(io, `asked for ${role} for ${durationText(request.seconds)}: request ${request.id}`);
  printHint(io, `an administrator decides: fairlead access approve ${request.id}`);
}

async function list(io: Io, { state, mine, output }: ListOptions): Promise<void> {
  const requests = await withApi(io, async (api) => {
    const isOwn = mine ?? !(await api.ask(Standing, '/v1/whoami')).administrator;
    const query = state === 'all' ? '' : `?state=${state}`;
    return allPages(api, AccessRequestList, `${isOwn ? MY_REQUESTS : REQUESTS}${query}`, (page) => page.requests);
  });
  printList(io, output, {
    list: { requests },
    name: ({ id }) => id,
    none: [state === 'all' ? 'nobody asked for access' : `no access request is ${state}`],
    heading: REQUEST_HEADING,
    row: requestRow,
  });
}

async function decide(io: Io, id: string, what: 'approval' | 'rejection', { output }: Printed): Promise<void> {
  const path = `${itemPath(REQUESTS, id)}/${what}`;
  const decided = await withApi(io, (api) => api.ask(AccessRequest, path, { method: 'POST' }));
  const { user, seconds, grantId } = decided;
  const line =
    what === 'approval'
      ? `approved for ${durationText(seconds)}: ${user}, grant ${grantId ?? ''}`
      : `rejected: ${user}`;
  printResult(io, output, decided, line);
}

interface Question {
  readonly user: string;
  readonly cluster: string;
  readonly verb: string;
  readonly resource: string;
  readonly name: string | undefined;
}

async function explain(io: Io, { user, ...request }: Question, options: ExplainOptions): Promise<void> {
  const { namespace, group: groups, output } = options;
  const subject = subjectNamed(user);
  const body = {
    ...request,
    ...(subject && { subject }),
    ...(groups && { groups }),
    ...(namespace !== undefined && { namespace }),
  };
  const path = '/v1/access/explanation';
  const answer = await withApi(io, (api) => api.ask(AccessExplanation, path, { method: 'POST', body }));
  if (output === 'json') return printJson(io, answer);
  printLines(io, `${answer.allowed ? 'allowed' : 'refused'}: ${answer.because}`);
  if (answer.grantId !== null) printLines(io, `grant ${answer.grantId}: fairlead grant show ${answer.grantId}`);
  if (answer.allowed) {
    printLines(io, `RBAC of ${request.cluster} decides next, with the groups: ${answer.groups.join(', ') || 'none'}`);
  } else if (answer.grantId === null) {
    printHint(io, `next: fairlead access request --cluster ${request.cluster} --role view --for 2h --reason TEXT`);
  }
}
