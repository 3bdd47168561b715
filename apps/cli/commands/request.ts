import { Option, type Command } from 'commander';
import type { Io } from '../io.js';
import { ageText, distributionText, nodesText } from '../output/cluster-view.js';
import { printList, printResult } from '../output/print.js';
import { allPages } from '../session/all-pages.js';
import { EnrolmentRequest, EnrolmentRequestList } from '../session/answers.js';
import { outputOption, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

interface Listed extends Printed {
  readonly state: string;
  readonly fingerprint?: string;
}

const APPROVE_HELP = `
The agent's log (agent.enrolment.waiting) shows the same fingerprint as "fairlead request list": compare them first.

Examples:
  fairlead request approve 0f9c1f6e-… --cluster shop-eu   # an agent without a token: it becomes this cluster
  fairlead request approve 0f9c1f6e-…                     # an agent that showed a token of its cluster`;

/** request manifest, list, approve, reject. */
export function addRequestCommands(program: Command, io: Io): void {
  const request = program
    .command('request')
    .summary('agents that wait to be let in')
    .description('Agents that wait to be let in, and what was decided about them.');
  request
    .command('manifest')
    .summary('print the manifest of an agent that asks to be adopted')
    .description('Print the manifest of an agent that has no token and asks to be adopted. It holds no secret.')
    .addHelpText('after', '\nAgents without a token are heard under the policy "queue": fairlead policy set queue')
    .action(() => manifest(io));
  request
    .command('list')
    .alias('ls')
    .summary('list the agents that wait')
    .description('List the agents that wait; with --state also those that were decided about.')
    .addOption(
      new Option('--state <state>', 'which ones')
        .choices(['pending', 'approved', 'rejected', 'all'])
        .default('pending'),
    )
    .option('--fingerprint <start>', 'only agents whose fingerprint begins so, at least 8 digits')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Listed) => list(io, options));
  request
    .command('approve <id>')
    .summary('let an agent in')
    .description('Let an agent in. It has its identity within a minute.')
    .option('--cluster <name>', 'which cluster it is; made if there is none of that name')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', APPROVE_HELP)
    .action((id: string, options: Printed & { cluster?: string }) => approve(io, id, options));
  request
    .command('reject <id>')
    .summary('turn an agent away')
    .description('Turn an agent away. It is told why, and asks rarely from then on.')
    .requiredOption('--reason <text>', 'why; the agent shows it in its log')
    .addOption(outputOption('table', 'json'))
    .action((id: string, options: Printed & { reason: string }) => reject(io, id, options));
}

async function manifest(io: Io): Promise<void> {
  io.stdout.write(await withApi(io, (api) => api.text('/v1/adoption-manifest')));
}

async function list(io: Io, { output, state, fingerprint }: Listed): Promise<void> {
  const query = new URLSearchParams({
    ...(state === 'all' ? {} : { state }),
    ...(fingerprint === undefined ? {} : { fingerprint: fingerprint.toLowerCase() }),
  }).toString();
  const path = `/v1/enrolment-requests${query && `?${query}`}`;
  const requests = await withApi(io, (api) => allPages(api, EnrolmentRequestList, path, (page) => page.requests));
  printList(io, output, {
    list: { requests },
    name: ({ id }) => id,
    none: [state === 'all' ? 'no agent has asked' : `no agent is ${state}`],
    heading: ['ID', 'STATE', 'CLUSTER', 'FINGERPRINT', 'FROM', 'KUBERNETES', 'PROVIDER', 'NODES', 'AGE'],
    row: (each) => [
      each.id,
      each.reason === null ? each.state : `${each.state}: ${each.reason}`,
      each.cluster ?? '',
      each.fingerprint,
      each.remoteAddress,
      `${each.facts.kubernetesVersion} ${each.facts.platform}`.trim(),
      distributionText(each.facts),
      nodesText(each.facts),
      ageText(each.createdAt, io.now()),
    ],
  });
}

async function approve(io: Io, id: string, { cluster, output }: Printed & { cluster?: string }): Promise<void> {
  const decided = await decide(io, id, 'approval', { cluster });
  printResult(io, output, decided, `approved as ${decided.cluster ?? 'a cluster'}: ${decided.fingerprint}`);
}

async function reject(io: Io, id: string, { reason, output }: Printed & { reason: string }): Promise<void> {
  const decided = await decide(io, id, 'rejection', { reason });
  printResult(io, output, decided, `rejected: ${decided.fingerprint}`);
}

function decide(io: Io, id: string, what: 'approval' | 'rejection', body: object): Promise<EnrolmentRequest> {
  const path = `/v1/enrolment-requests/${encodeURIComponent(id)}/${what}`;
  return withApi(io, (api) => api.ask(EnrolmentRequest, path, { method: 'POST', body }));
}
