import { eventually } from '@fairlead/testing';
import { installerReport } from './report.js';
import type { World } from './world.js';
import { CLUSTER } from './world.js';

const CONTENTS = '/repos/platform/catalog/contents';

/** Text of a ConfigMap `name` in `default`. */
export function greeting(name: string, text: string): string {
  const metadata = { name, namespace: 'default' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { greeting: text } });
}

/** Commits a file of the demo cluster's folder to the branch that it follows, past Fairlead. Returns the commit. */
export async function push({ gitea }: Pick<World, 'gitea'>, file: string, text: string): Promise<string> {
  const path = `${CONTENTS}/clusters/${CLUSTER}/${file}`;
  const before = await gitea.ask<{ sha: string }>('GET', path).catch(() => undefined);
  const content = Buffer.from(text).toString('base64');
  const body = { content, message: `Change ${file}`, ...(before ? { sha: before.sha } : {}) };
  const { commit } = await gitea.ask<{ commit: { sha: string } }>(before ? 'PUT' : 'POST', path, body);
  return commit.sha;
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
    { timeoutMs: 60_000, intervalMs: 500 },
  );
}
