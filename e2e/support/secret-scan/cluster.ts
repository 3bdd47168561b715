import type { Stack } from '@fairlead/stack';

const NAMESPACE = 'fairlead-system';
const TIMEOUT_MS = 60_000;

/** What people and tools are shown of the agent's namespace in the demo cluster, by the command that shows it; no Secret's values. */
export async function shownByKubectl(stack: Stack): Promise<Map<string, string>> {
  const resources = await kubectl(stack, ['api-resources', '--namespaced', '--verbs=list', '-o', 'name']);
  const kinds = resources.split('\n').filter((kind) => kind !== '' && kind !== 'secrets');
  const commands = [
    ['get', kinds.join(','), '--namespace', NAMESPACE, '-o', 'yaml'],
    ['describe', kinds.join(','), '--namespace', NAMESPACE],
    ['describe', 'secrets', '--namespace', NAMESPACE],
    ['get', 'namespaces,clusterroles,clusterrolebindings', '-o', 'yaml'],
  ];
  const shown = new Map<string, string>();
  for (const command of commands)
    shown.set(`kubectl ${command[0]} ${command[1]?.slice(0, 40)}`, await kubectl(stack, command));
  return shown;
}

/** Values of the Secrets in the agent's namespace, by name and key. */
export async function secretsInCluster(stack: Stack): Promise<Map<string, string>> {
  const list = await kubectl(stack, ['get', 'secrets', '--namespace', NAMESPACE, '-o', 'json']);
  const { items } = JSON.parse(list) as { items: { metadata: { name: string }; data?: Record<string, string> }[] };
  const values = items.flatMap(({ metadata, data = {} }) =>
    Object.entries(data).map(
      ([key, value]) => [`${metadata.name}/${key}`, Buffer.from(value, 'base64').toString()] as const,
    ),
  );
  return new Map(values);
}

async function kubectl(stack: Stack, args: readonly string[]): Promise<string> {
  const { demo } = stack;
  if ('unavailable' in demo) throw new Error(demo.unavailable);
  const { code, stdout, stderr } = await stack.kubectl(['--kubeconfig', demo.adminKubeconfigPath, ...args], {
    timeoutMs: TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`kubectl ${args.join(' ').slice(0, 200)}: ${stderr.slice(-2_000)}`);
  return stdout;
}
