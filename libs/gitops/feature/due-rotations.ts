import { OneByOne } from './one-by-one.js';
import type { Runtime } from './runtime.js';

/** A cluster whose key is to be replaced. */
interface Due {
  readonly id: string;
  readonly hostId: string;
}

/** Begins rotations that are due, of each Git host as many as it has room for. What fails is tried again after growing pauses, and holds up nothing else. */
export class DueRotations {
  readonly #rotations: OneByOne;

  constructor(runtime: Runtime) {
    this.#rotations = new OneByOne(runtime, 'key-rotation');
  }

  /** All that are due, of all hosts: what fails is remembered of those that are named. `rotate` is false if something came between. True if any began. */
  async begin<T extends Due>(
    due: readonly T[],
    roomOf: (hostId: string) => number,
    rotate: (cluster: T) => Promise<boolean>,
  ): Promise<boolean> {
    const begun = new Map<string, number>();
    return this.#rotations.each(
      due,
      ({ id }) => id,
      async (cluster) => {
        const before = begun.get(cluster.hostId) ?? 0;
        if (before >= roomOf(cluster.hostId) || !(await rotate(cluster))) return false;
        begun.set(cluster.hostId, before + 1);
        return true;
      },
    );
  }
}
