import { join } from 'node:path';
import { z } from 'zod';
import { Program } from '../process/program.js';

/** What every way ends at: `host:port` of the target's port for orders, and of the one where it speaks first. */
export interface Target {
  readonly address: string;
  readonly banner: string;
}

const Announcement = z.object({ address: z.string(), banner: z.string() });

export async function startTarget(program: string, dir: string, owned: AsyncDisposableStack): Promise<Target> {
  const target = owned.use(new Program({ name: 'the target', command: [program], logPath: join(dir, 'target.log') }));
  return target.announced(Announcement);
}
