import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import type { Kubeconfig } from '../kube/kubeconfig.js';
import { printHint, printLines } from '../output/print.js';
import { allClusters } from '../session/all-pages.js';
import { ClusterAccess } from '../session/answers.js';
import type { ApiClient } from '../session/api-client.js';
import { writePrivateFile } from '../session/login-store.js';
import { clusterPath } from '../session/paths.js';
import { durationSeconds } from './option-values.js';
import { withApi } from './with-api.js';

const KUBECONFIG_HELP = `
It holds no secret: kubectl asks this command for the token. Your own kubeconfig is written only with --merge, and of it only the entries of
this installation: contexts that you have already stay, and so does the current one.

Examples:
  fairlead kubeconfig demo --output demo.kubeconfig
  kubectl --kubeconfig demo.kubeconfig get nodes
  kubectl --kubeconfig demo.kubeconfig --context demo@gateway-b get nodes
  kubectl --kubeconfig <(fairlead kubeconfig demo) get pods -A
  fairlead kubeconfig --all --merge                  # every cluster, beside what your own kubeconfig has
  fairlead kubeconfig demo --by-name                 # https://demo.<domain> instead of https://<door>/clusters/demo
  fairlead kubeconfig --all --break-glass --for 7d --output break-glass.kubeconfig

With --break-glass it does hold a secret, the administrator's token, and beside it what agents of clusters that require statements take for so
long: it works while the API, the access service and NATS are away. Keep it where you keep that token.`;

/** A working day's incident. Whoever keeps one for later says for how long. */
const BREAK_GLASS_SECONDS = 8 * 3_600;
const MAX_BREAK_GLASS_SECONDS = 90 * 24 * 3_600;

interface KubeconfigCommandOptions {
  readonly all?: true;
  readonly door?: string;
  readonly byName?: true;
  readonly merge?: true;
  readonly breakGlass?: true;
  /** Seconds. */
  readonly for?: number;
  readonly output?: string;
}

/** kubeconfig. */
export function addKubeCommands(program: Command, io: Io): void {
  program
    .command('kubeconfig [cluster]')
    .summary('print a kubeconfig for a cluster, or for all')
    .description(
      'Print a kubeconfig that reaches a cluster, or all of them, through Fairlead, with one context per door.',
    )
    .option('--all', 'every cluster instead of one')
    .option('--door <name>', 'the door of the context named like the cluster; the first one unless given')
    .option('--by-name', 'each cluster at a host name of its own, for tools that cannot carry a path')
    .option('--output <file>', 'write it to a file instead')
    .option('--break-glass', "one that works while the API is away: with the administrator's token in it")
    .addOption(
      new Option(
        '--for <duration>',
        'how long what stands beside that token counts, 1m to 90d; 8h unless given',
      ).argParser(durationSeconds),
    )
    .option('--merge', 'add it to the file of --output, or to your own kubeconfig, instead of replacing anything')
    .addHelpText('after', KUBECONFIG_HELP)
    .action((cluster: string | undefined, options: KubeconfigCommandOptions) => makeKubeconfig(io, cluster, options));
}

async function makeKubeconfig(io: Io, cluster: string | undefined, options: KubeconfigCommandOptions): Promise<void> {
  const { all, door, byName, merge, output, breakGlass } = options;
  if ((cluster === undefined) === (all === undefined))
    throw usage('name one cluster, or say --all', 'fairlead cluster list');
  if (output !== undefined && !merge) await refuseOwnKubeconfig(io, output);
  if (breakGlass) return makeBreakGlass(io, cluster, options);
  if (options.for !== undefined) throw usage('--for is of --break-glass', 'add that, or leave it out');
  // Loaded only here: see `connect`.
  const { kubeconfig } = await import('../kube/kubeconfig.js');
  const made = await withApi(io, async (api, { server }) => {
    const accesses = await accessesOf(api, cluster);
    return kubeconfig({ accesses, server, door, byName, self: io.self, home: io.config.explicitHome });
  });
  await (merge ? mergeInto(io, made, output) : print(io, made, output));
}

/** For when nobody is there to ask: it goes to a file of its own, because there is a secret in it. */
async function makeBreakGlass(io: Io, cluster: string | undefined, options: KubeconfigCommandOptions): Promise<void> {
  const { door, byName, merge, output, for: seconds = BREAK_GLASS_SECONDS } = options;
  if (output === undefined || merge) {
    throw usage('--break-glass makes a file with a secret in it', 'add --output FILE, and leave out --merge');
  }
  if (seconds < 60 || seconds > MAX_BREAK_GLASS_SECONDS) {
    throw usage('--for is too short or too long', 'give 1m to 90d');
  }
  // Loaded only here: see `connect`.
  const [{ breakGlass, warningOf }, { stringify }] = await Promise.all([
    import('../kube/break-glass.js'),
    import('yaml'),
  ]);
  const made = await withApi(io, async (api, login) =>
    breakGlass(api, { accesses: await accessesOf(api, cluster), login, seconds, door, byName }),
  );
  await writePrivateFile(resolve(output), `${warningOf(made)}${stringify(made.kubeconfig, { lineWidth: 0 })}`);
  printLines(io, `${output}: for ${made.kubeconfig.users.length} clusters, until ${made.openUntil}`);
  const context = made.kubeconfig['current-context'] === undefined ? ' --context CLUSTER' : '';
  printHint(
    io,
    `keep it as safe as the administrator's token: that is in it`,
    `try it: kubectl --kubeconfig ${output}${context} get namespaces`,
  );
}

/** Of this cluster, or of all; one after the other: an installation may have a thousand, and this is in no hurry. */
async function accessesOf(api: ApiClient, cluster: string | undefined): Promise<ClusterAccess[]> {
  const names = cluster === undefined ? (await allClusters(api)).map(({ name }) => name) : [cluster];
  const accesses: ClusterAccess[] = [];
  for (const name of names) accesses.push(await api.ask(ClusterAccess, `${clusterPath(name)}/access`));
  return accesses;
}

async function print(io: Io, made: Kubeconfig, output: string | undefined): Promise<void> {
  const { stringify } = await import('yaml');
  if (output === undefined) {
    io.stdout.write(stringify(made));
    return;
  }
  await writePrivateFile(resolve(output), stringify(made));
  printLines(io, `${output}: ${made.contexts.length} contexts written`);
  const context = made['current-context'] === undefined ? ' --context CLUSTER' : '';
  printHint(io, `next: kubectl --kubeconfig ${output}${context} get namespaces`);
}

async function mergeInto(io: Io, made: Kubeconfig, output: string | undefined): Promise<void> {
  const { kubeconfigToWrite, mergeIntoFile } = await import('../kube/write-kubeconfig.js');
  const path = output ?? (await kubeconfigToWrite(io.config.kubeconfigsInUse));
  await mergeIntoFile(path, made);
  const [first] = made.contexts;
  printLines(io, `${path}: ${made.contexts.length} contexts written`);
  const config = output === undefined ? '' : ` --kubeconfig ${output}`;
  if (first) printHint(io, `next: kubectl${config} --context ${first.name} get namespaces`);
}

/** Whatever tool owns the user's kubeconfig, it is not this one: it is never replaced. */
async function refuseOwnKubeconfig(io: Io, output: string): Promise<void> {
  const real = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
  const own = await Promise.all(io.config.ownKubeconfigs.map(real));
  if (!own.includes(await real(output))) return;
  throw usage(`${output} is your own kubeconfig, and would be replaced`, 'choose another file, or add --merge');
}
