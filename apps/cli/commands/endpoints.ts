import type { Command } from 'commander';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printTable } from '../output/print.js';
import { EndpointSet } from '../session/answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { outputOption, wholeNumber, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

type Endpoint = EndpointSet['endpoints'][number];

interface Added extends Printed {
  readonly region?: string;
  readonly weight?: number;
  readonly serverName?: string;
}

const LIST = '/v1/endpoints';
const HELP = `
Agents are told of each change over their links, and remember it; none is imported again. While there are none, they
dial what their import manifest says: begin with adding those that are in use.

A gateway, or the balancer in front of it, moves to another address:
  fairlead endpoints add new.example.com:443     agents may come there
  fairlead endpoints drain old.example.com:443   they go there, each once its new link stands
  fairlead endpoints list                        how many clusters were told
  fairlead endpoints remove old.example.com:443  when the old one is gone for good`;

/** endpoints list, add, drain, remove. */
export function addEndpointCommands(program: Command, io: Io): void {
  const endpoints = program
    .command('endpoints')
    .summary('where agents reach gateways')
    .description('Where agents reach gateways: add a region, move, drain.')
    .addHelpText('after', HELP);
  endpoints
    .command('list')
    .alias('ls')
    .summary('list the endpoints')
    .description('List the endpoints, and how many clusters were told of them.')
    .addOption(outputOption('table', 'json'))
    .action((options: Printed) => list(io, options));
  endpoints
    .command('add <host:port>')
    .summary('add an endpoint, or change one')
    .description('Add an endpoint, or say something else of one that is there. One that drains is active again.')
    .option('--region <name>', 'agents of this region come here first')
    .option('--weight <number>', 'how often it is dialled, against others: 1 to 1000; default 1', wholeNumber)
    .option('--server-name <name>', 'what agents call the gateway there in TLS (SNI), for a balancer')
    .addOption(outputOption('table', 'json'))
    .action((address: string, options: Added) => add(io, address, options));
  endpoints
    .command('drain <host:port>')
    .summary('have agents leave an endpoint')
    .description('Have agents leave an endpoint. Each goes once a link of its stands elsewhere.')
    .addOption(outputOption('table', 'json'))
    .action((address: string, options: Printed) => drain(io, address, options));
  endpoints
    .command('remove <host:port>')
    .alias('rm')
    .summary('remove an endpoint')
    .description('Remove an endpoint. Agents forget it once a link has stood at another one. Drain it first.')
    .option('--yes', 'do not ask about one that is active; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((address: string, options: Confirmed) => remove(io, address, options));
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const set = await withApi(io, (api) => api.ask(EndpointSet, LIST));
  if (output === 'json') return printJson(io, set);
  print(io, set);
}

async function add(io: Io, address: string, { output, region, weight, serverName }: Added): Promise<void> {
  const [before, after] = await withApi(io, async (api) => {
    const had = await api.ask(EndpointSet, LIST);
    return [
      had,
      await api.ask(EndpointSet, itemPath(LIST, address), { method: 'PUT', body: { region, weight, serverName } }),
    ];
  });
  if (output === 'json') return printJson(io, after);
  print(io, after);
  if (before.endpoints.length === 0) {
    printHint(
      io,
      'from now on agents dial what is listed here first: add all that are in use, those of import manifests too',
    );
  }
}

async function drain(io: Io, address: string, { output }: Printed): Promise<void> {
  const after = await withApi(io, async (api) => {
    const { found, ifRevision } = await find(api, address);
    const { address: _, ...said } = found;
    const body = { ...said, state: 'draining' };
    return api.ask(EndpointSet, itemPath(LIST, address), { method: 'PUT', body, ifRevision });
  });
  if (output === 'json') return printJson(io, after);
  print(io, after);
  printHint(io, `when every cluster was told and the old one is idle: fairlead endpoints remove ${address}`);
}

async function remove(io: Io, address: string, { output, yes }: Confirmed): Promise<void> {
  await withApi(io, async (api) => {
    const { found, ifRevision } = await find(api, address);
    const question =
      'It is active: agents leave it as soon as they hear, and those that do not hear may know no other. Remove it?';
    if (found.state === 'active' && !(await confirmed(io, question, yes))) return printLines(io, 'nothing changed');
    const after = await api.ask(EndpointSet, itemPath(LIST, address), { method: 'DELETE', ifRevision });
    if (output === 'json') return printJson(io, after);
    print(io, after);
  });
}

/** With the revision of the list that it was seen in. */
async function find(
  api: Parameters<Parameters<typeof withApi>[1]>[0],
  address: string,
): Promise<{ readonly found: Endpoint; readonly ifRevision: string | undefined }> {
  const { endpoints, revision: ifRevision } = await api.ask(EndpointSet, LIST);
  const found = endpoints.find((each) => each.address === address.toLowerCase());
  if (found) return { found, ifRevision };
  throw failure('NOT_FOUND', `there is no endpoint ${address}`, 'fairlead endpoints list');
}

function print(io: Io, { endpoints, trustVersion, clusters, clustersTold }: EndpointSet): void {
  if (endpoints.length === 0) return printLines(io, 'no endpoints: agents dial what their import manifest says');
  printTable(
    io,
    ['ADDRESS', 'STATE', 'REGION', 'WEIGHT', 'SERVER NAME'],
    endpoints.map(({ address, state, region = '', weight, serverName = '' }) => [
      address,
      state === 'active' ? { text: state, colour: 'green' } : { text: state, colour: 'yellow' },
      region,
      String(weight),
      serverName,
    ]),
  );
  printLines(io, `trust bundle ${trustVersion}: ${clustersTold} of ${clusters} clusters were told`);
}
