import { Option, type Command } from 'commander';
import { z } from 'zod';
import { addEndOptions, endOf, endTime, type EndOptions } from '../access/end.js';
import { addNarrowingOptions, narrowingOf, type NarrowingOptions } from '../access/narrowing.js';
import { addScopeOptions, scopeIn, scopeOf, type ClusterScope, type ScopeOptions } from '../access/scope.js';
import { addSubjectOptions, subjectIn, subjectOf, subjectText, type SubjectOptions } from '../access/subject.js';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { GRANT_HEADING, grantLines, grantRow, whatText } from '../output/access-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { Grant, GrantList } from '../session/access-answers.js';
import { allPages } from '../session/all-pages.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { collected, outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const GRANTS = '/v1/grants';
const MY_GRANTS = '/v1/users/me/grants';
const API_ROLES = ['administrator', 'auditor'];
export const ROLES = ['view', 'edit', 'admin', 'cluster-admin', ...API_ROLES];

const CREATE_HELP = `
The roles view, edit, admin and cluster-admin are those of Kubernetes. The roles administrator and auditor are for this command: an administrator
manages clusters, an auditor reads the audit log, and neither gets into a cluster by that. Without narrowing, a role counts for the whole cluster. A grant with --deny wins over all others.
It counts within two seconds, and what runs because of it is cut off when it ends.

Examples:
  fairlead grant create --user corp:alice --role view --namespace shop --clusters 'env=staging' --for 4d --reason 'looks into SHOP-7'
  fairlead grant create --token deployer --role edit --namespace shop --cluster shop-eu --until never --reason 'the pipeline'
  fairlead grant create --group corp:sre --role administrator --until 2026-12-31 --reason 'runs the platform'
  fairlead grant create --user corp:dana --role auditor --for 30d --reason 'the yearly audit'
  fairlead grant create --group corp:developers --deny --resource secrets --all-clusters --until never --reason 'policy 12'
  fairlead grant create --client prometheus --target '10.0.0.0/8:9100' --clusters 'env=prod' --for 90d --reason 'scrapes'`;

const LIST_HELP = `
Examples:
  fairlead grant list --mine                 # what may I do?
  fairlead grant list --cluster prod         # who may do what there?
  fairlead grant list --user corp:alice      # to her by name; to her groups: --group`;

interface CreateOptions extends Printed, SubjectOptions, ScopeOptions, NarrowingOptions, EndOptions {
  readonly role?: string;
  readonly kubernetesGroup?: readonly string[];
  readonly asUser?: readonly string[];
  readonly asGroup?: readonly string[];
  readonly target?: readonly string[];
  readonly deny?: true;
  readonly from?: string;
  readonly reason: string;
}

interface ListOptions extends Printed, SubjectOptions {
  readonly cluster?: string;
  readonly mine?: true;
}

/** grant create, list, show, delete. */
export function addGrantCommands(program: Command, io: Io): void {
  const grant = program
    .command('grant')
    .summary('say who may do what in which clusters')
    .description('Say who may do what in which clusters, until when, and why.');
  addCreate(grant, io);
  addSubjectOptions(
    grant
      .command('list')
      .alias('ls')
      .summary('list the grants')
      .description('List the grants: all of them, those to somebody, or those that mean a cluster.'),
  )
    .option('--cluster <name>', 'only those that mean this cluster')
    .option('--mine', 'those to you and to your groups; everybody may ask for them')
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', LIST_HELP)
    .action((options: ListOptions) => list(io, options));
  grant
    .command('show <id>')
    .summary('show a grant')
    .description('Show a grant.')
    .addOption(outputOption('table', 'json'))
    .action((id: string, options: Printed) => show(io, id, options));
  grant
    .command('delete <id>')
    .summary('take a grant back')
    .description('Take a grant back. What runs because of it ends within two seconds.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((id: string, options: Confirmed) => remove(io, id, options));
}

function addCreate(grant: Command, io: Io): void {
  const create = grant.command('create').summary('grant somebody something').description('Grant somebody something.');
  addEndOptions(addNarrowingOptions(addScopeOptions(addSubjectOptions(create).addOption(roleOption()))))
    .addOption(
      new Option('--from <time>', 'it begins then: 2026-12-01T08:00Z; at once unless given').argParser(beginning),
    )
    .addOption(
      new Option('--kubernetes-group <group>', 'a group that the clusters bind themselves; may be repeated').argParser(
        collected,
      ),
    )
    .addOption(new Option('--as-user <user>', 'whom kubectl --as may name; may be repeated').argParser(collected))
    .addOption(
      new Option('--as-group <group>', 'which kubectl --as-group may name; may be repeated').argParser(collected),
    )
    .addOption(
      new Option(
        '--target <rule>',
        'what a client may ask for at the CONNECT door, such as 10.0.0.0/8:9100 or *.shop.svc:443; may be repeated',
      ).argParser(collected),
    )
    .option('--deny', 'what is said here is forbidden, whatever else is granted')
    .requiredOption('--reason <text>', 'why; it is shown with the grant')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CREATE_HELP)
    .action((options: CreateOptions) => make(io, options));
}

const roleOption = (): Option => new Option('--role <role>', 'what they may do').choices(ROLES);

function beginning(text: string): string | undefined {
  const at = endTime(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00Z` : text);
  return at === 'never' ? undefined : at;
}

async function make(io: Io, options: CreateOptions): Promise<void> {
  const body = grantOf(options, io.now());
  const grant = await withApi(io, (api) => api.ask(Grant, GRANTS, { method: 'POST', body }));
  if (options.output === 'json') return printJson(io, grant);
  const until = grant.expiresAt === null ? 'until it is taken back' : `until ${grant.expiresAt}`;
  printLines(io, `granted to ${subjectText(grant.subject)}, ${until}: ${whatText(grant)}`, `grant ${grant.id}`);
  printHint(io, `to take it back: fairlead grant delete ${grant.id}`);
}

/** As the API takes it. */
function grantOf(options: CreateOptions, now: Date): object {
  const { role = null, deny, from: notBefore, kubernetesGroup: groups = [], target: targets, reason } = options;
  if (role === null && groups.length === 0 && !deny && !targets) {
    throw usage(
      'it is not said what they may do',
      `add --role ${ROLES.join('|')}, --deny with what is forbidden, or to a client --target HOST:PORT`,
    );
  }
  const { asUser: users, asGroup } = options;
  const impersonate = { ...(users && { users }), ...(asGroup && { groups: asGroup }) };
  return {
    subject: subjectOf(options),
    effect: deny ? 'deny' : 'allow',
    clusters: scopeFor(role, options),
    role,
    groups,
    narrowing: narrowingOf(options),
    ...(targets ? { targets } : {}),
    ...(users || asGroup ? { impersonate } : {}),
    ...(notBefore === undefined ? {} : { notBefore }),
    expiresAt: endOf(options, now),
    reason,
  };
}

/** A role of the admin API is of all clusters, so it need not be said. */
function scopeFor(role: string | null, options: ScopeOptions): ClusterScope {
  if (role === null || !API_ROLES.includes(role)) return scopeOf(options);
  return scopeIn(options) ?? { all: true };
}

async function list(io: Io, options: ListOptions): Promise<void> {
  const { mine, cluster, output } = options;
  const subject = subjectIn(options);
  if (mine && (subject || cluster !== undefined)) {
    throw usage('--mine takes no other filter', 'fairlead grant list --mine');
  }
  const query = new URLSearchParams({
    ...(subject ? { subject: `${subject.kind}/${subject.name}` } : {}),
    ...(cluster === undefined ? {} : { cluster }),
  }).toString();
  const path = mine ? MY_GRANTS : `${GRANTS}${query === '' ? '' : `?${query}`}`;
  const grants = await withApi(io, (api) => allPages(api, GrantList, path, (page) => page.grants));
  printList(io, output, {
    list: { grants },
    name: ({ id }) => id,
    none: mine
      ? ['nothing is granted to you', 'next: fairlead access request --help']
      : ['no such grants', 'next: fairlead grant create --help'],
    heading: GRANT_HEADING,
    row: (grant) => grantRow(grant, io.now()),
  });
}

async function show(io: Io, id: string, { output }: Printed): Promise<void> {
  const grant = await withApi(io, (api) => api.ask(Grant, itemPath(GRANTS, id)));
  printResult(io, output, grant, ...grantLines(grant, io.now()));
}

async function remove(io: Io, id: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Take the grant ${id} back? What runs because of it is cut off.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing taken back');
  await withApi(io, (api) => api.ask(z.null(), itemPath(GRANTS, id), { method: 'DELETE' }));
  printResult(io, output, { id, deleted: true }, `grant ${id} taken back`);
}
