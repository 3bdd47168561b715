import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { usage } from '../failure.js';
import type { Io } from '../io.js';
import { execCredential } from '../kube/exec-credential.js';
import { printHint, printJson } from '../output/print.js';
import { ClusterAccess } from '../session/answers.js';
import { loadLogin, writePrivateFile } from '../session/login-store.js';
import { failure } from '../failure.js';
import { clusterPath } from '../session/paths.js';
import { withApi } from './with-api.js';

const KUBECONFIG_HELP = `
It holds no secret: kubectl asks this command for the token. Your own kubeconfig is never written.

Examples:
  fairlead kubeconfig demo --output demo.kubeconfig
  kubectl --kubeconfig demo.kubeconfig get nodes
  kubectl --kubeconfig demo.kubeconfig --context demo@gateway-b get nodes
  kubectl --kubeconfig <(fairlead kubeconfig demo) get pods -A`;

interface KubeconfigCommandOptions {
  readonly door?: string;
  readonly output?: string;
}

/** kubeconfig, and the exec plugin behind it. */
export function addKubeCommands(program: Command, io: Io): void {
  program
    .command('kubeconfig <cluster>')
    .summary('print a kubeconfig for a cluster')
    .description('Print a kubeconfig that reaches a cluster through Fairlead, with one context per door.')
    .option('--door <name>', 'the door of the context named like the cluster; the first one unless given')
    .option('--output <file>', 'write it to a file instead')
    .addHelpText('after', KUBECONFIG_HELP)
    .action((cluster: string, options: KubeconfigCommandOptions) => print(io, cluster, options));
  program
    .command('credential')
    .summary('print the token for kubectl (a client-go credential plugin)')
    .description('Print the token of the stored login as kubectl wants it. Kubeconfigs made by this command call it.')
    .option('--server <url>', 'only if the stored login is for this server')
    .action((options: { server?: string }) => credential(io, options.server));
}

async function print(io: Io, cluster: string, { door, output }: KubeconfigCommandOptions): Promise<void> {
  if (output !== undefined) await refuseOwnKubeconfig(io, output);
  // Loaded only here: see `connect`.
  const { kubeconfig } = await import('../kube/kubeconfig.js');
  const text = await withApi(io, async (api, { server }) => {
    const access = await api.ask(ClusterAccess, `${clusterPath(cluster)}/access`);
    return kubeconfig({ access, server, door, self: io.self, home: io.config.explicitHome });
  });
  if (output === undefined) {
    io.stdout.write(text);
    return;
  }
  await writePrivateFile(resolve(output), text);
  printHint(io, `next: kubectl --kubeconfig ${output} get namespaces`);
}

async function credential(io: Io, server: string | undefined): Promise<void> {
  const login = await loadLogin(io.config.home);
  if (server !== undefined && login.server !== server) {
    const next = `fairlead login --server ${server}, or make a new kubeconfig`;
    throw failure(
      'UNAUTHENTICATED',
      `this kubeconfig is for ${server}, and you are logged in to ${login.server}`,
      next,
    );
  }
  printJson(io, execCredential(login.token, io.now()));
}

/** Whatever tool owns the user's kubeconfig, it is not this one. */
async function refuseOwnKubeconfig(io: Io, output: string): Promise<void> {
  const real = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
  const own = await Promise.all(io.config.ownKubeconfigs.map(real));
  if (!own.includes(await real(output))) return;
  throw usage(`${output} is your own kubeconfig, and this command never writes it`, 'choose another file');
}
