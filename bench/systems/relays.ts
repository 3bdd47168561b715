import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { startAnnounced } from '../process/child.js';
import type { System } from './system.js';

const Announcement = z.object({ address: z.string() });
const ServerAnnouncement = z.object({ address: z.string(), caPem: z.string() });

/** Compiled only: the benchmark runs from `dist`. */
const RELAY_NODE = fileURLToPath(new URL('relay-node.js', import.meta.url));

/** The server that everything ends at, asked without anything in between. */
export async function startServer(program: string, owned: AsyncDisposableStack): Promise<System> {
  const { announced } = owned.use(await startAnnounced('the server', [program], ServerAnnouncement));
  const { address, caPem } = announced;
  return { name: 'direct', target: `https://${address}`, caPem, authorization: '', pids: [] };
}

/** Two processes, one behind the other, as a gateway and an agent stand behind each other. */
export async function startRelays(
  name: 'relay-go' | 'relay-node',
  program: string,
  server: System,
  owned: AsyncDisposableStack,
): Promise<System> {
  const command = (to: string): [string, ...string[]] =>
    name === 'relay-go' ? [program, to] : [process.execPath, RELAY_NODE, to];
  const inner = owned.use(await startAnnounced(name, command(new URL(server.target).host), Announcement));
  const outer = owned.use(await startAnnounced(name, command(inner.announced.address), Announcement));
  return { ...server, name, target: `https://${outer.announced.address}`, pids: [outer.pid, inner.pid] };
}
