import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '@fairlead/errors';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { ageText } from '../output/cluster-view.js';
import { printHint, printJson, printLines, printList, printResult } from '../output/print.js';
import { Bundle, BundleList } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';
import { confirmed } from '../session/prompt.js';
import { TOOLS, outputOption, type Confirmed, type Printed } from './option-values.js';
import { withApi } from './with-api.js';

/** What is uploaded has 15 s to arrive; then the API answers within 105 s. */
const IMPORT_MS = 120_000;
const MAX_BYTES = 16 * 1_048_576;
const BUNDLES = '/v1/bundles';

const IMPORT_HELP = `
A bundle is the install manifest of a tool as it was released. It is kept with its SHA-256, and clusters take nothing else for it.
A file is read here. A URL is fetched by Fairlead itself, and needs the digest of what is meant.

Examples:
  flux install --export > flux.yaml && fairlead bundle import flux.yaml --tool flux --version v2.7.3
  fairlead bundle import https://github.com/fluxcd/flux2/releases/download/v2.7.3/install.yaml \\
    --tool flux --version v2.7.3 --digest SHA256`;

interface Importing extends Printed {
  readonly tool: string;
  readonly version: string;
  readonly digest?: string;
}

const toolOption = (): Option => new Option('--tool <tool>', 'whose it is').choices(TOOLS);

/** bundle import, list, rm. */
export function addBundleCommands(program: Command, io: Io): void {
  const bundle = program
    .command('bundle')
    .summary('import install manifests of GitOps tools')
    .description('Install manifests of GitOps tools, as clusters get them.');
  bundle
    .command('import <file-or-url>')
    .summary('import an install manifest')
    .description('Import an install manifest from a file or a URL. The same again does no harm.')
    .addOption(toolOption().makeOptionMandatory())
    .requiredOption('--version <version>', 'what it is called from now on, such as v2.7.3')
    .option('--digest <sha256>', 'SHA-256 of the YAML, hex; needed for a URL, checked for a file')
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', IMPORT_HELP)
    .action((source: string, options: Importing) => importBundle(io, source, options));
  bundle
    .command('list')
    .alias('ls')
    .summary('list the bundles')
    .description('List the bundles.')
    .addOption(outputOption('table', 'json', 'name'))
    .action((options: Printed) => list(io, options));
  bundle
    .command('rm <version>')
    .summary('remove a bundle')
    .description('Remove a bundle. Refused while an assignment or a running rollout needs it.')
    .addOption(toolOption().makeOptionMandatory())
    .option('--yes', 'do not ask; needed where there is no terminal')
    .addOption(outputOption('table', 'json'))
    .action((version: string, options: Confirmed & { tool: string }) => remove(io, version, options));
}

async function importBundle(io: Io, source: string, options: Importing): Promise<void> {
  const { tool, version, output } = options;
  const path = itemPath(BUNDLES, tool, version);
  const digest = options.digest?.toLowerCase().replace(/^sha256:/, '');
  const bundle = /^https?:\/\//i.test(source)
    ? await fromUrl(io, path, source, digest)
    : await fromFile(io, path, source, digest);
  if (output === 'json') return printJson(io, bundle);
  printLines(io, `bundle ${bundle.tool} ${bundle.version} kept: ${bundle.objects} objects, sha256 ${bundle.digest}`);
  for (const image of bundle.images) printLines(io, `image: ${image}`);
  printHint(io, `next: fairlead gitops assign NAME --tool ${tool} --bundle ${version} --cluster CLUSTER`);
}

function fromUrl(io: Io, path: string, url: string, digest: string | undefined): Promise<z.infer<typeof Bundle>> {
  if (digest === undefined) {
    throw usage(
      'a URL may answer anything: say the digest of what is meant',
      `add --digest, of: curl -fsSL ${url} | sha256sum`,
    );
  }
  const ask = { method: 'POST', body: { url, digest }, deadlineMs: IMPORT_MS } as const;
  return withApi(io, (api) => api.ask(Bundle, `${path}/import`, ask));
}

async function fromFile(io: Io, path: string, file: string, named?: string): Promise<z.infer<typeof Bundle>> {
  const content = await readBundle(file);
  const digest = createHash('sha256').update(content).digest('hex');
  if (named !== undefined && named !== digest) {
    throw failure(
      'INVALID_ARGUMENT',
      `${file} has the digest ${digest}, not ${named}`,
      'fetch it again, or look whose it is',
    );
  }
  const query = new URLSearchParams({ digest, origin: basename(file) });
  const ask = { method: 'PUT', file: { mediaType: 'application/yaml', content }, deadlineMs: IMPORT_MS } as const;
  return withApi(io, (api) => api.ask(Bundle, `${path}?${query.toString()}`, ask));
}

async function readBundle(file: string): Promise<Buffer> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw usage(`${file} is larger than ${MAX_BYTES} bytes`, 'take the install manifest alone');
    if (size === 0) throw usage(`${file} is empty`, 'write it again, such as with: flux install --export');
    return await readFile(file);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw failure('NOT_FOUND', `cannot read the bundle: ${messageOf(error)}`, 'check the path', error);
  }
}

async function list(io: Io, { output }: Printed): Promise<void> {
  const { bundles } = await withApi(io, (api) => api.ask(BundleList, BUNDLES));
  printList(io, output, {
    list: { bundles },
    name: ({ version }) => version,
    none: ['no bundles yet', 'next: fairlead bundle import --help'],
    heading: ['TOOL', 'VERSION', 'OBJECTS', 'BYTES', 'SHA256', 'FROM', 'BY', 'AGE'],
    row: (each) => [
      each.tool,
      each.version,
      String(each.objects),
      String(each.bytes),
      each.digest.slice(0, 16),
      each.origin,
      each.importedBy,
      ageText(each.importedAt, io.now()),
    ],
  });
}

async function remove(io: Io, version: string, options: Confirmed & { tool: string }): Promise<void> {
  const { tool, yes, output } = options;
  if (!(await confirmed(io, `Remove the bundle ${tool} ${version}?`, yes))) return printLines(io, 'nothing removed');
  await withApi(io, (api) => api.ask(z.null(), itemPath(BUNDLES, tool, version), { method: 'DELETE' }));
  printResult(io, output, { tool, version, deleted: true }, `bundle ${tool} ${version} removed`);
}
