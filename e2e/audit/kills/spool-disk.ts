import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, statfs, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@fairlead/testing';

const run = promisify(execFile);
/** What is used of it takes memory, and no more. */
const ROOMY = '2g';
const MOUNT_TIMEOUT_MS = 10_000;

/** Where the spool of one gateway is. */
export interface SpoolDisk extends AsyncDisposable {
  /** Nothing more can be written to it until the returned function has been called. */
  fill(): Promise<() => Promise<void>>;
}

/** Before the stack of that state directory starts. */
export function spoolDisk(stateDir: string, gateway: string): Promise<SpoolDisk> {
  const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
  return isRoot ? mountDisk(stateDir, gateway) : Promise.resolve(ownFolder(stateDir, gateway));
}

/** Root mounts one in memory: what is durable there costs nothing, and it can be made as small as what is in it. */
async function mountDisk(stateDir: string, gateway: string): Promise<SpoolDisk> {
  const mounted = await mkdtemp(join(tmpdir(), 'fairlead-spool-'));
  await mount(mounted, `size=${ROOMY},mode=0700`);
  await mkdir(join(stateDir, 'audit-spools'), { mode: 0o700 });
  await symlink(mounted, join(stateDir, 'audit-spools', gateway));
  return {
    fill: async () => {
      // It cannot become smaller than what is used, and that goes on growing.
      await eventually(async () => mount(mounted, `remount,size=${await usedBytes(mounted)}`), { intervalMs: 20 });
      return () => mount(mounted, `remount,size=${ROOMY}`);
    },
    [Symbol.asyncDispose]: async () => {
      await run('umount', [mounted], { timeout: MOUNT_TIMEOUT_MS });
      await rm(mounted, { recursive: true });
    },
  };
}

/** Others take the right to make files: the spool fails as soon as it needs the next one, and not in the middle of one. */
function ownFolder(stateDir: string, gateway: string): SpoolDisk {
  const folder = join(stateDir, 'audit-spools', gateway);
  return {
    fill: async () => {
      await chmod(folder, 0o500);
      return () => chmod(folder, 0o700);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function mount(path: string, options: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { timeout: MOUNT_TIMEOUT_MS });
}

async function usedBytes(path: string): Promise<number> {
  const { blocks, bfree, bsize } = await statfs(path);
  return (blocks - bfree) * bsize;
}
