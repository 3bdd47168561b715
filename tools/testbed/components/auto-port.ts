import { freePort, isFree } from '../process/ports.js';

const ATTEMPTS = 4;

/**
 * Runs `start` with the wanted ports, each 0 or undefined one replaced by a free one. When a start fails and a port that was chosen
 * here turns out to be taken (another process was faster), tries again with others.
 */
export async function onFreePorts<T>(
  wanted: readonly (number | undefined)[],
  start: (ports: number[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const ports = [];
    for (const port of wanted) ports.push(port || (await freePort()));
    try {
      return await start(ports);
    } catch (error) {
      if (attempt === ATTEMPTS || !(await someChosenTaken(wanted, ports))) throw error;
    }
  }
}

async function someChosenTaken(wanted: readonly (number | undefined)[], ports: readonly number[]): Promise<boolean> {
  for (const [index, port] of ports.entries()) if (!wanted[index] && !(await isFree(port))) return true;
  return false;
}
