import type { Stack } from '@fairlead/stack';

/** One `fairlead` command of an installation: its standard output. Throws with what it said unless it succeeds. */
export async function fairlead(stack: Stack, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await stack.cli(args);
  if (code !== 0) throw new Error(`fairlead ${args.join(' ')}: ${stderr}`);
  return stdout;
}
