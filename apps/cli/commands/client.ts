import { Option, type Command } from 'commander';
import { z } from 'zod';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printJson, printLines, printList, printResult } from '../output/print.js';
import { refuseExisting } from '../output/refuse-existing.js';
import { CertifiedClient, ClientList, type Client } from '../session/answers.js';
import { allPages } from '../session/all-pages.js';
import type { ApiClient } from '../session/api-client.js';
import { confirmed } from '../session/prompt.js';
import { collected, outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

const CREATE_HELP = `
The key is made here and goes nowhere. The folder then holds client.key, client.crt and ca.crt, all for you only.
A certificate is valid for a day unless the installation says otherwise: the same command with --force gets the next one.

Examples:
  fairlead client create prometheus --cluster demo --cluster shop --out prometheus-client
  fairlead client create apiserver --cluster edge-7 --out /etc/kubernetes/fairlead
  fairlead client create probe --granted --out probe-client    # then: fairlead grant create --client probe --target …
  fairlead client create prometheus --cluster demo --cluster shop --out prometheus-client --force   # renew`;

/** client create, list, delete. */
export function addClientCommands(program: Command, io: Io): void {
  const client = program
    .command('client')
    .summary('let programs reach ports in clusters')
    .description('Let programs reach ports in clusters through the CONNECT door, each with a certificate of its own.');
  client
    .command('create <name>')
    .summary('register a client and make its key and certificate')
    .description('Register a client of the CONNECT door, make its key, and have it certified.')
    .addOption(
      new Option('--cluster <name>', 'a cluster it may reach; may be repeated')
        .argParser(collected)
        .conflicts(['allClusters', 'granted']),
    )
    .addOption(new Option('--all-clusters', 'it may reach every cluster, those to come included').conflicts('granted'))
    .option('--granted', 'it may reach what it is granted, and nothing else: fairlead grant create --client NAME')
    .requiredOption('--out <folder>', 'where to write client.key, client.crt and ca.crt')
    .option('--force', 'replace these files if they are there')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', CREATE_HELP)
    .action((name: string, options: CreateOptions) => create(io, name, options));
  client
    .command('list')
    .alias('ls')
    .summary('list the clients')
    .description('List the clients of the CONNECT door.')
    .addOption(outputOption('table', 'json', 'name'))
    .addHelpText('after', '\nExamples:\n  fairlead client list\n  fairlead client list -o json')
    .action((options: Printed) => list(io, options));
  client
    .command('delete <name>')
    .summary('delete a client')
    .description('Delete a client: its certificates are worth nothing at once.')
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', '\nExamples:\n  fairlead client delete prometheus\n  fairlead client delete prometheus --yes')
    .action((name: string, options: Confirmed) => remove(io, name, options));
}

interface CreateOptions extends Printed {
  readonly cluster?: readonly string[];
  readonly allClusters?: true;
  readonly granted?: true;
  readonly out: string;
  readonly force?: true;
}

async function create(io: Io, name: string, options: CreateOptions): Promise<void> {
  const { allClusters, granted, out, force, output } = options;
  const clusters = granted ? [] : (options.cluster ?? null);
  if (clusters === null && !allClusters) {
    const next = 'add --cluster NAME, --all-clusters, or --granted';
    throw usage('it is not said which clusters the client may reach', next);
  }
  // Loaded only here: see `connect`.
  const [{ clientFiles, usageExamples, writeClientFiles }, { createCsr, generatePrivateKey, withoutRoot }] =
    await Promise.all([import('../client/client-files.js'), import('@fairlead/pki')]);
  if (!force) await refuseExisting(...(Object.values(clientFiles(out)) as string[]));
  const key = await generatePrivateKey();
  const csr = Buffer.from(await createCsr(key)).toString('base64');
  const body = { name, clusters, csr };
  const made = await withApi(io, (api) => api.ask(CertifiedClient, '/v1/clients', { method: 'POST', body }));
  const { client, chain, doors, certificateAuthority: authority } = made;
  const certificate = withoutRoot(chain)
    .map((pem) => `${pem.trimEnd()}\n`)
    .join('');
  const files = await writeClientFiles(out, { key, certificate, authority });
  if (output === 'json') return printJson(io, { client, doors, files });
  printLines(io, `client ${client.name} certified until ${client.notAfter ?? 'an unknown time'}, for ${reach(client)}`);
  printLines(io, `files: ${Object.values(files).join(', ')}`, '', ...usageExamples(made, files));
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const clients = await withApi(io, everyClient);
  printList(io, output, {
    list: { clients },
    name: ({ name }) => name,
    none: ['no clients yet', 'next: fairlead client create NAME --cluster CLUSTER --out FOLDER'],
    heading: ['NAME', 'CLUSTERS', 'CERTIFIED UNTIL', 'AGE'],
    row: (client) => [client.name, reach(client), client.notAfter ?? '', ageText(client.createdAt, io.now())],
  });
}

function everyClient(api: ApiClient): Promise<Client[]> {
  return allPages(api, ClientList, '/v1/clients', ({ clients }) => clients);
}

async function remove(io: Io, name: string, { yes, output }: Confirmed): Promise<void> {
  const question = `Delete the client ${name}? Its certificates are worth nothing from then on.`;
  if (!(await confirmed(io, question, yes))) return printLines(io, 'nothing deleted');
  await withApi(io, (api) => api.ask(z.null(), `/v1/clients/${encodeURIComponent(name)}`, { method: 'DELETE' }));
  printResult(io, output, { name, deleted: true }, `client ${name} deleted`);
}

function reach({ clusters }: Client): string {
  if (clusters === null) return 'all clusters';
  return clusters.length === 0 ? 'what is granted' : clusters.join(', ');
}
