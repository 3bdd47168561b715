import type { KubeInfo } from '@fairlead/testbed';
import { StackError } from '../errors.js';
import { baseEnvironment } from '../process/base-environment.js';
import { runCommand } from '../process/run-command.js';

export interface AdminKubectl {
  readonly kube: KubeInfo;
  readonly kubectlPath: string;
}

/** One kubectl as the administrator of a cluster; what it printed. Throws StackError, with what it said, unless it succeeds. */
export async function adminKubectl(
  { kube, kubectlPath }: AdminKubectl,
  args: readonly string[],
  stdin = '',
): Promise<string> {
  const env = { ...baseEnvironment(), KUBECONFIG: kube.adminKubeconfigPath };
  const output = await runCommand(kubectlPath, [...args, '--request-timeout=30s'], { env, stdin, timeoutMs: 60_000 });
  if (output.code === 0) return output.stdout;
  throw new StackError(`kubectl ${args[0]} failed: ${output.stderr.trim().slice(-2_000)}`);
}
