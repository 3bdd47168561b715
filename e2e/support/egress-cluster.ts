import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@fairlead/stack';
import { startKubernetes, type KubeInfo } from '@fairlead/testbed';

/** A kube-apiserver apart from the demo, whose nodes can only be reached through a CONNECT door. */
export interface EgressCluster extends AsyncDisposable {
  readonly info: KubeInfo;
  /** Writes the door into its configuration and, if that changed it, starts it anew; resolves when it is ready. */
  useDoor(connectUrl: string): Promise<void>;
  /** Has the client certified again, into the same files. */
  renewClient(): Promise<void>;
  restart(): Promise<void>;
}

/**
 * Registers a client for the demo cluster, and starts a kube-apiserver with the EgressSelectorConfiguration that
 * `fairlead client create` printed.
 */
export async function startEgressCluster(stack: Stack, dir: string, client: string): Promise<EgressCluster> {
  const folder = join(dir, 'client');
  const egressSelectorConfigPath = join(dir, 'egress.yaml');
  const config = configIn(await createClient(stack, client, folder));
  await mkdir(dir, { recursive: true });
  await writeFile(egressSelectorConfigPath, config);
  const running = await startKubernetes({
    dataDir: join(dir, 'kubernetes'),
    asProcesses: true,
    egressSelectorConfigPath,
    log: () => undefined,
  });
  const restart = async (): Promise<void> => {
    // Asked to stop, it would wait for the watches of its kubelets.
    const { exited } = running;
    running.kill('SIGKILL');
    await exited;
    await running.restart();
  };
  return {
    info: running.info,
    restart,
    useDoor: async (connectUrl) => {
      const wanted = config.replace(/\burl: \S+/, `url: ${connectUrl}`);
      if ((await readFile(egressSelectorConfigPath, 'utf8')) === wanted) return;
      await writeFile(egressSelectorConfigPath, wanted);
      await restart();
    },
    renewClient: async () => void (await createClient(stack, client, folder, '--force')),
    [Symbol.asyncDispose]: () => running.stop(),
  };
}

/** What the command printed. */
async function createClient(stack: Stack, name: string, folder: string, ...flags: string[]): Promise<string> {
  const made = await stack.cli(['client', 'create', name, '--cluster', 'demo', '--out', folder, ...flags]);
  if (made.code !== 0) throw new Error(made.stderr);
  return made.stdout;
}

function configIn(printed: string): string {
  const config = /^apiVersion: apiserver\.k8s\.io\/[^]*/m.exec(printed)?.[0];
  if (config === undefined) throw new Error(`no configuration for an API server in:\n${printed}`);
  return config;
}
