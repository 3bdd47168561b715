import { CLUSTER, type World } from './world.js';

type Plane = Pick<World, 'stack'>;

/** What holds data: a control plane has it, and is not it. */
const STORES = new Set(['nats', 'postgres']);

/** Kills every service and gateway. Disposed of, it starts them again; it throws if somebody did before. */
export async function endControlPlane({ stack }: Plane): Promise<AsyncDisposable> {
  const processes = stack.processes.filter(({ name }) => !STORES.has(name));
  for (const process of processes) {
    process.kill('SIGKILL');
    await process.exited;
  }
  return {
    [Symbol.asyncDispose]: async () => {
      const revived = processes.filter(({ pid }) => pid !== undefined).map(({ name }) => name);
      // In the order of their start: whoever is asked for something runs before the one who asks.
      for (const process of processes) await process.restart();
      if (revived.length > 0) throw new Error(`somebody started ${revived.join(', ')}`);
    },
  };
}

/** What `fairlead gitops events` prints of the cluster. */
export async function eventsOfCommand({ stack }: Plane): Promise<unknown[]> {
  const { code, stdout, stderr } = await stack.cli(['gitops', 'events', CLUSTER, '-o', 'json']);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { events: unknown[] }).events;
}
