import type { Command } from 'commander';
import type { Io } from '../io.js';
import { outputOption, printHint, printJson, printLines, type Format } from '../output/print.js';
import { ImportLink } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import type { Login } from '../session/login-store.js';
import { usage } from '../failure.js';
import { withApi } from './with-api.js';

const IMPORT_HELP = `
The manifest holds a token for one enrolment: do not keep it.

Examples:
  fairlead cluster import demo | kubectl apply -f -
  fairlead cluster import demo --link            # for somebody else to apply
  fairlead cluster import demo --link -o json`;

interface ImportOptions {
  readonly link?: true;
  readonly output: Format;
}

/** cluster import. */
export function addImportCommand(cluster: Command, io: Io): void {
  cluster
    .command('import <name>')
    .summary('print the manifest that brings a cluster in')
    .description('Print the manifest that brings a cluster in, or a short-lived link to it.')
    .option('--link', 'print only a link that works once, for a few minutes')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', IMPORT_HELP)
    .action((name: string, options: ImportOptions) => importCluster(io, name, options));
}

async function importCluster(io: Io, name: string, options: ImportOptions): Promise<void> {
  if (options.output === 'json' && !options.link) throw usage('the manifest is YAML', 'use -o json with --link');
  await withApi(io, async (api, login) => {
    const path = `/v1/clusters/${encodeURIComponent(name)}/import-links`;
    const link = await api.ask(ImportLink, path, { method: 'POST' });
    if (!options.link) return printManifest(io, api, link.url);
    if (options.output === 'json') printJson(io, link);
    else printLink(io, link.url, link.expiresAt, login);
  });
}

async function printManifest(io: Io, api: ApiClient, url: string): Promise<void> {
  // The server of the login answers it too, by whatever name it is known to the outside.
  io.stdout.write(await api.text(new URL(url).pathname, { authenticated: false }));
  if (io.stdout.isTTY) printHint(io, '# apply it in the cluster: fairlead cluster import NAME | kubectl apply -f -');
}

function printLink(io: Io, url: string, expiresAt: string, login: Login): void {
  const root = login.certificateAuthorityFile ?? 'ROOT.pem';
  const apply = login.certificateAuthority
    ? `curl -fsS --cacert '${root.replaceAll("'", `'\\''`)}' '${url}' | kubectl apply -f -`
    : `kubectl apply -f '${url}'`;
  printLines(io, url, '', `# works once, until ${expiresAt}; in the cluster to import:`, apply);
}
