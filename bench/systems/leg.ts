import { join } from 'node:path';
import { z } from 'zod';
import { Program } from '../process/program.js';

/** Where the agent's side of a system is, and how both sides reach each other. */
export interface Leg {
  /** What stands before the command of what runs beside the agent. */
  readonly prefix: readonly string[];
  /** The gateway's address as the agent dials it. */
  readonly gatewayHost: string;
  /** The agent's own address, which the target shares. */
  readonly agentHost: string;
}

/** Everything on this machine's loopback. */
export const LOCAL: Leg = { prefix: [], gatewayHost: '127.0.0.1', agentHost: '127.0.0.1' };

const Announcement = z.object({ near: z.string(), far: z.string(), namespace: z.string() });
/** Each way. */
const DELAY_MS = 25;

/** Makes a second network namespace for the agent's side, 50 ms away; both go with the program. */
export async function openFarLeg(program: string, dir: string, owned: AsyncDisposableStack): Promise<Leg> {
  const command = [program, String(DELAY_MS)] as const;
  const wan = owned.use(new Program({ name: 'the path of 50 ms', command, logPath: join(dir, 'wan.log') }));
  const { near, far, namespace } = await wan.announced(Announcement);
  return { prefix: ['nsenter', `--net=${namespace}`, '--'], gatewayHost: near, agentHost: far };
}
