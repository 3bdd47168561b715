import { join } from 'node:path';
import { z } from 'zod';
import { Program, prefixed } from '../process/program.js';
import type { Leg } from './leg.js';

/** What every way ends at: `host:port` of the target's port for orders, and of the one where it speaks first. */
export interface Target {
  readonly address: string;
  readonly banner: string;
}

const Announcement = z.object({ address: z.string(), banner: z.string() });

/** Beside the agent, at its address. */
export async function startTarget(
  program: string,
  { prefix, agentHost }: Leg,
  dir: string,
  owned: AsyncDisposableStack,
): Promise<Target> {
  const command = prefixed(prefix, [program, agentHost]);
  const target = owned.use(new Program({ name: 'the target', command, logPath: join(dir, 'target.log') }));
  return target.announced(Announcement);
}
