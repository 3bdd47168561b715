// What the processes of one run share: a folder, named by an environment variable, with a line for each thing that was found out.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VARIABLE = 'FAIRLEAD_SUITE_SESSION';
/** Set for test processes: where the testbed notes what was asked of it. */
const USED_VARIABLE = 'FAIRLEAD_TESTBED_USED_DIR';
/** Set for test processes: where the testbed keeps what it makes once for all of them. */
const TEMPLATES_VARIABLE = 'FAIRLEAD_TESTBED_TEMPLATES';
/** Set in place of components that are here when there is nothing more to come. */
const NOTHING_MORE = '.all';

/** What vitest says of a test file. */
export interface FileResult {
  readonly path: string;
  readonly project: string;
  readonly passed: number;
  readonly skipped: number;
  /** A few lines for each test that failed, or for a file that did not load. */
  readonly failures: readonly string[];
}

/** What the process of a test file took. */
export interface Measure {
  readonly path: string;
  readonly wallS: number;
  readonly cpuS: number;
  readonly needs: readonly string[];
}

export class Session {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static create(): Session {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-suite-'));
    for (const name of ['ready', 'used']) mkdirSync(join(folder, name));
    return new Session(folder);
  }

  /** The one of the run this process belongs to; undefined in a vitest that somebody began by hand. */
  static fromEnvironment(): Session | undefined {
    const folder = process.env[VARIABLE];
    return folder === undefined ? undefined : new Session(folder);
  }

  /** For the environment of vitest. */
  get environment(): Record<string, string> {
    return { [VARIABLE]: this.#folder };
  }

  /** For the environment of a test file's process. */
  environmentOf(file: number): Record<string, string> {
    mkdirSync(this.#usedBy(file), { recursive: true });
    return { [USED_VARIABLE]: this.#usedBy(file), [TEMPLATES_VARIABLE]: join(this.#folder, 'templates') };
  }

  /** The components that a test file's process asked for. */
  componentsOf(file: number): string[] {
    return readdirSync(this.#usedBy(file)).sort();
  }

  addResult(result: FileResult): void {
    this.#append('results', result);
  }

  results(): FileResult[] {
    return this.#read<FileResult>('results');
  }

  addMeasure(measure: Measure): void {
    this.#append('measures', measure);
  }

  measures(): Measure[] {
    return this.#read<Measure>('measures');
  }

  /** An error outside any test. */
  addError(text: string): void {
    this.#append('errors', text);
  }

  errors(): string[] {
    return this.#read<string>('errors');
  }

  setReady(component: string): void {
    writeFileSync(join(this.#folder, 'ready', component), '');
  }

  /** What is not here by now never comes: who asks for it is told why. */
  setNothingMore(): void {
    this.setReady(NOTHING_MORE);
  }

  areReady(components: readonly string[]): boolean {
    const has = (name: string) => existsSync(join(this.#folder, 'ready', name));
    return has(NOTHING_MORE) || components.every(has);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #usedBy(file: number): string {
    return join(this.#folder, 'used', String(file));
  }

  #append(name: string, value: unknown): void {
    appendFileSync(join(this.#folder, `${name}.jsonl`), `${JSON.stringify(value)}\n`);
  }

  #read<T>(name: string): T[] {
    const path = join(this.#folder, `${name}.jsonl`);
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
  }
}
