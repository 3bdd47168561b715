import { commitFile } from '@fairlead/git-hosts/testing';
import { eventually } from '@fairlead/testing';
import { installerReport } from './report.js';
import type { World } from './world.js';
import { CLUSTER } from './world.js';

/** Text of a ConfigMap `name` in `default`. */
export function greeting(name: string, text: string): string {
  const metadata = { name, namespace: 'default' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { greeting: text } });
}

/** Commits a file of the demo cluster's folder to the branch that it follows, past Fairlead. Returns the commit. */
export function push({ gitea }: Pick<World, 'gitea'>, file: string, text: string): Promise<string> {
  return commitFile(gitea, `clusters/${CLUSTER}/${file}`, text);
}

/** The greeting that the cluster has; empty: none. */
export async function greetingIn({ kubectl }: Pick<World, 'kubectl'>, name: string): Promise<string> {
  return kubectl(['get', 'configmap', name, '-n', 'default', '--ignore-not-found', '-o', 'jsonpath={.data.greeting}']);
}

/** Waits until the cluster has this greeting; says what the installer says of the repository if it never has. */
export async function greets(world: Pick<World, 'kubectl'>, name: string, text: string): Promise<void> {
  await eventually(
    async () => {
      const found = await greetingIn(world, name);
      if (found === text) return;
      const { phase, problem, source, sync } = await installerReport(world);
      throw new Error(`${name} says ${found}, not ${text}: ${JSON.stringify({ phase, problem, source, sync })}`);
    },
    { timeoutMs: 60_000, intervalMs: 1_000 },
  );
}
