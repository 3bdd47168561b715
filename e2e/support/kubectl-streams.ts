import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Kubectl } from '@fairlead/testbed';

/**
 * Sends bytes through `cat` in the pod `shell`, and ends its input when all are back. For a command that ends earlier,
 * kube-apiserver closes the WebSocket while kubectl may still be reading from it, and what kubectl has not read by its next
 * ping, after 5 s, is lost: so it is on a machine that is slow enough, without a tunnel too.
 */
export async function echoed(kubectl: Kubectl, sent: Buffer): Promise<{ code: unknown; sha256: string }> {
  const command = kubectl.start(['exec', '-i', 'shell', '--', 'cat']);
  const exit = once(command, 'exit');
  command.stderr.resume();
  command.stdin.on('error', () => undefined).write(sent);
  const chunks: Buffer[] = [];
  let received = 0;
  for await (const chunk of command.stdout as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    received += chunk.length;
    if (received >= sent.length) command.stdin.end();
  }
  const [code] = (await exit) as [unknown];
  return { code, sha256: sha256(Buffer.concat(chunks)) };
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** How kubectl came to speak with the kube-apiserver in a request that it had to tell about with -v=8; before 1.33, each line says who logs it. */
export function upgradesIn(said: string): string[] {
  return [...said.matchAll(/^(?:I\d.*\])?\s+Upgrade: (\S+)$/gim)].map(([, name]) => name ?? '');
}

/** Throws unless the command succeeds and has nothing to complain about. */
export async function succeeds(
  output: Promise<{ readonly code: number | null; readonly stderr: string }>,
): Promise<void> {
  const { code, stderr } = await output;
  if (code !== 0 || stderr !== '') throw new Error(`it ended with ${code}: ${stderr}`);
}
