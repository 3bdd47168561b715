import { StackError } from '../errors.js';
import type { CommandOutput } from '../process/run-command.js';
import type { Stack } from '../stack.js';

type Cli = Stack['cli'];

/** What the stack does as the administrator, all of it through the fairlead command, as a person would. */
export interface Administrator {
  login(): Promise<void>;
  /** Whether it had to be created; one that exists stays as it is. */
  ensureCluster(
    name: string,
    wanted: { readonly links: number; readonly targets: readonly string[] },
  ): Promise<{ readonly created: boolean }>;
  /** The import manifest, through a link made for it. It holds a bootstrap token. */
  importManifest(clusterName: string): Promise<string>;
  /** Writes a kubeconfig with a context for the cluster at each gateway. */
  writeKubeconfig(clusterName: string, path: string): Promise<void>;
}

export function administrator(cli: Cli, api: Stack['api']): Administrator {
  return {
    async login() {
      const files = ['--ca-file', api.caFile, '--token-file', api.adminTokenFile];
      succeed('log in', await cli(['login', '--server', api.url, ...files]));
    },
    async ensureCluster(name, { links, targets }) {
      const names = succeed('list the clusters', await cli(['cluster', 'list', '-o', 'name'])).stdout.split('\n');
      if (names.includes(name)) return { created: false };
      const rules = targets.flatMap((rule) => ['--allow-target', rule]);
      succeed('create the cluster', await cli(['cluster', 'create', name, '--links', String(links), ...rules]));
      return { created: true };
    },
    async importManifest(clusterName) {
      return succeed('fetch the import manifest', await cli(['cluster', 'import', clusterName])).stdout;
    },
    async writeKubeconfig(clusterName, path) {
      succeed('write the kubeconfig', await cli(['kubeconfig', clusterName, '--output', path]));
    },
  };
}

function succeed(what: string, output: CommandOutput): CommandOutput {
  if (output.code === 0) return output;
  throw new StackError(`the fairlead command could not ${what}: ${output.stderr.trim().slice(-2_000)}`);
}
