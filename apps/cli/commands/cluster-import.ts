import { oneLine } from '@fairlead/errors';
import { Option, type Command } from 'commander';
import type { Io } from '../io.js';
import { printHint, printJson, printLines, printNotice, type Format } from '../output/print.js';
import { shellWord } from '../output/shell-word.js';
import { Cluster, ImportLink } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import type { Login } from '../session/login-store.js';
import { usage } from '../failure.js';
import { clusterPath } from '../session/paths.js';
import { VALUES_HELP, judgedOf, valuesOf, valuesOption } from './manifest-values.js';
import { outputOption, pairs } from './option-values.js';
import { withApi } from './with-api.js';

const IMPORT_HELP = `
The manifest holds a token for one enrolment: do not keep it.
${VALUES_HELP}

Examples:
  fairlead cluster import demo | kubectl apply -f -
  fairlead cluster import demo --values demo.yaml | kubectl apply -f -
  fairlead cluster import demo --link            # for somebody else to apply
  fairlead cluster import demo --link -o json`;

interface ImportOptions {
  readonly link?: true;
  readonly values?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly output: Format;
}

type LinkLogin = Pick<Login, 'certificateAuthority' | 'certificateAuthorityFile'>;

/** cluster import. */
export function addImportCommand(cluster: Command, io: Io): void {
  cluster
    .command('import <name>')
    .summary('print the manifest that brings a cluster in')
    .description('Print the manifest that brings a cluster in, or a short-lived link to it.')
    .option('--link', 'print only a link that works once, for a few minutes')
    .addOption(new Option('--label <key=value>', 'a label to add; may be repeated').argParser(pairs))
    .addOption(valuesOption())
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', IMPORT_HELP)
    .action((name: string, options: ImportOptions) => importCluster(io, name, options));
}

async function importCluster(io: Io, name: string, options: ImportOptions): Promise<void> {
  if (options.output === 'json' && !options.link) throw usage('the manifest is YAML', 'use -o json with --link');
  const { label: labels } = options;
  const change = { ...(await valuesOf(options.values)), ...(labels === undefined ? {} : { labels }) };
  await withApi(io, async (api, login) => {
    if (Object.keys(change).length > 0) {
      await judgedOf(options.values, () => api.ask(Cluster, clusterPath(name), { method: 'PATCH', body: change }));
    }
    const path = `${clusterPath(name)}/import-links`;
    const link = await api.ask(ImportLink, path, { method: 'POST' });
    if (!options.link) return printManifest(io, api, link.url);
    if (options.output === 'json') printJson(io, link);
    else printLines(io, ...linkLines(link, login));
  });
}

async function printManifest(io: Io, api: ApiClient, url: string): Promise<void> {
  // The server of the login answers it too, by whatever name it is known to the outside.
  const manifest = await api.text(new URL(url).pathname, { authenticated: false });
  io.stdout.write(manifest);
  const unreachable = endpointsOnlyHere(manifest);
  if (unreachable.length > 0) {
    printNotice(
      io,
      `warning: agents are told to dial ${unreachable.join(' and ')}, which nobody reaches from elsewhere`,
      'next: say where gateways are reached from there: fairlead endpoints add --help (with Docker Compose: FAIRLEAD_HOST)',
    );
  }
  if (io.stdout.isTTY) printHint(io, '# apply it in the cluster: fairlead cluster import NAME | kubectl apply -f -');
}

/** What agents of this manifest dial first, if nobody reaches any of it from elsewhere; else nothing. */
export function endpointsOnlyHere(manifest: string): string[] {
  const said = /^ *- name: FAIRLEAD_ENDPOINTS\n *value: *(\S+)$/m.exec(manifest)?.[1] ?? '';
  const endpoints = said.replaceAll(/['"]/g, '').split(',').filter(Boolean);
  return endpoints.every(isOnlyHere) ? endpoints : [];
}

/** Loopback, or a name without a domain. */
function isOnlyHere(endpoint: string): boolean {
  const host = endpoint.replace(/:\d+$/, '');
  return /^(127\.[\d.]+|\[::1\]|[A-Za-z][A-Za-z0-9-]*)$/.test(host);
}

/** What `--link` prints. The server's words: they go to a terminal, and from there into a shell. */
export function linkLines(link: { readonly url: string; readonly expiresAt: string }, login: LinkLogin): string[] {
  const [url, expiresAt] = [oneLine(link.url), oneLine(link.expiresAt)];
  if (!login.certificateAuthority) {
    return [
      url,
      '',
      `# works once, until ${expiresAt}; in the cluster to import:`,
      `kubectl apply -f ${shellWord(url)}`,
    ];
  }
  const root = login.certificateAuthorityFile;
  const along = root === undefined ? 'the root of this server' : oneLine(root);
  return [
    url,
    '',
    `# works once, until ${expiresAt} (410: it was used, or has ended); in the cluster to import, with ${along} sent along as root.pem:`,
    `curl -fsS --cacert root.pem ${shellWord(url)} | kubectl apply -f -`,
  ];
}
