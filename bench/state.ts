import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { Results, type Cells } from './report/results.js';

const Failure = z.object({ count: z.number(), of: z.number(), reason: z.string() });
const Saved = z.object({
  /** What the figures are of: only an equal run may go on with them. */
  key: z.string(),
  savedAt: z.number(),
  done: z.array(z.string()),
  cells: z.record(
    z.string(),
    z.object({ runs: z.array(z.number()), failed: Failure.optional(), unmeasured: z.string().optional() }),
  ),
});

/** Figures of different hours are not of the same machine. */
const MAX_AGE_MS = 2 * 3_600_000;

/** How far a run has come, in a file, so that one that is cut off can go on. */
export class State {
  readonly results: Results;
  readonly #done: Set<string>;

  private constructor(
    private readonly file: string,
    private readonly key: string,
    saved: { readonly done: readonly string[]; readonly cells: Cells } | undefined,
  ) {
    this.#done = new Set(saved?.done);
    this.results = new Results(saved?.cells);
  }

  /** What an equal run left in the file, or a beginning. */
  static async open(file: string, key: string, now: number): Promise<State> {
    return new State(file, key, await saved(file, key, now));
  }

  /** Steps that an earlier run has done. */
  get steps(): number {
    return this.#done.size;
  }

  isDone(step: string): boolean {
    return this.#done.has(step);
  }

  /** Keeps what the results hold now, and that this step is among it. */
  async done(step: string): Promise<void> {
    this.#done.add(step);
    const text = JSON.stringify({
      key: this.key,
      savedAt: Date.now(),
      done: [...this.#done],
      cells: this.results.cells,
    } satisfies z.input<typeof Saved>);
    await mkdir(dirname(this.file), { recursive: true });
    await writeFile(`${this.file}.new`, text);
    await rename(`${this.file}.new`, this.file);
  }

  /** The run is complete: the next one begins anew. */
  async forget(): Promise<void> {
    await rm(this.file, { force: true });
  }
}

async function saved(file: string, key: string, now: number): Promise<{ done: string[]; cells: Cells } | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { success, data } = Saved.safeParse(JSON.parse(text));
  if (!success || data.key !== key || now - data.savedAt > MAX_AGE_MS) return undefined;
  return { done: data.done, cells: data.cells as Cells };
}
