import { readFileSync, readdirSync } from 'node:fs';

export interface ShownProcess {
  readonly pid: number;
  /** Arguments and environment, as /proc shows them. */
  readonly shown: string;
}

/** Every process that this one started, and those that they did. Empty where there is no /proc. */
export function startedProcesses(root: number = process.pid): ShownProcess[] {
  if (process.platform !== 'linux') return [];
  const children = new Map<number, number[]>();
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? 0);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const below = (pid: number): number[] => (children.get(pid) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(root).map((pid) => ({ pid, shown: showProcess(pid) }));
}

export function showProcess(pid: number): string {
  return process.platform === 'linux' ? `${read(pid, 'cmdline')}\0${read(pid, 'environ')}` : '';
}

/** Empty for a process that has ended meanwhile, and for what we may not see either: in a container, the environment of another user. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}
