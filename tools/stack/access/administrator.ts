import { ClusterGitOps } from '@fairlead/contracts';
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
    wanted: {
      readonly links: number;
      readonly targets: readonly string[];
      /** The catalog repository that Flux is to follow in it. Without, it is made without GitOps. */
      readonly catalog?: string | undefined;
    },
  ): Promise<{ readonly created: boolean }>;
  /** A demo of a run without GitOps makes place for one with it: its import manifest had no installer. */
  deleteClusterWithoutGitOps(name: string): Promise<{ readonly deleted: boolean }>;
  /** What the assignment of that name selects fetches each 5 s: somebody waits for it. */
  fetchOften(assignment: string): Promise<void>;
  /** Has people log in there, by code too; again: changes it. */
  addIssuer(issuer: { readonly name: string; readonly url: string; readonly clientId: string }): Promise<void>;
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
    async ensureCluster(name, { links, targets, catalog }) {
      if (await isThere(cli, name)) return { created: false };
      const rules = targets.flatMap((rule) => ['--allow-target', rule]);
      const gitops = catalog === undefined ? [] : ['--gitops', 'flux', '--repo', catalog];
      const all = ['--links', String(links), ...rules, ...gitops];
      succeed('create the cluster', await cli(['cluster', 'create', name, ...all]));
      return { created: true };
    },
    async deleteClusterWithoutGitOps(name) {
      if (!(await isThere(cli, name))) return { deleted: false };
      const told = succeed('tell about GitOps', await cli(['gitops', 'status', name, '-o', 'json'])).stdout;
      if (ClusterGitOps.parse(JSON.parse(told)).assignment !== null) return { deleted: false };
      succeed('delete the cluster', await cli(['cluster', 'delete', name, '--yes']));
      return { deleted: true };
    },
    async fetchOften(name) {
      succeed('set how often it fetches', await cli(['gitops', 'assign', name, '--interval', '5s']));
    },
    async addIssuer({ name, url, clientId }) {
      const words = ['--url', url, '--client-id', clientId, '--device-code'];
      succeed('add the issuer', await cli(['issuer', 'add', name, ...words]));
    },
    async importManifest(clusterName) {
      return succeed('fetch the import manifest', await cli(['cluster', 'import', clusterName])).stdout;
    },
    async writeKubeconfig(clusterName, path) {
      succeed('write the kubeconfig', await cli(['kubeconfig', clusterName, '--output', path]));
    },
  };
}

async function isThere(cli: Cli, cluster: string): Promise<boolean> {
  return succeed('list the clusters', await cli(['cluster', 'list', '-o', 'name']))
    .stdout.split('\n')
    .includes(cluster);
}

/** What a command said. Throws StackError, with its own words, unless it succeeded. */
export function succeed(what: string, output: CommandOutput): CommandOutput {
  if (output.code === 0) return output;
  throw new StackError(`the fairlead command could not ${what}: ${output.stderr.trim().slice(-2_000)}`);
}
