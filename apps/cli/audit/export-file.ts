import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { usage } from '../failure.js';
import { parseJson } from '../session/parse-json.js';

/** As `audit export` writes it, or `audit save --bodies`. */
const Line = z.union([
  z.looseObject({ complete: z.literal(true) }),
  z.looseObject({
    number: z.int().min(1),
    body: z.union([z.string(), z.record(z.string(), z.unknown())]).nullable(),
  }),
]);
type Entry = Extract<z.infer<typeof Line>, { readonly number: number }>;

/** From one number to another, both of them. */
export interface Numbers {
  readonly from: number;
  readonly to: number;
}
const MAX_TOLD_MISSING = 20;

/** What an export turned out to be, held to a log that is verified. */
export interface ExportVerdict {
  /** Lines whose body is the one that was logged. */
  readonly proven: number;
  /** Lines whose bodies the log has no more, so that nothing can be said of them. */
  readonly unproven: number;
  /** Lines with numbers that are in no checkpoint yet. */
  readonly newer: number;
  readonly first: number | null;
  readonly last: number | null;
  /** How many numbers between these two are not in the file: none, of an export without a filter. */
  readonly missing: number;
  /** Which: the first of them. */
  readonly missingNumbers: readonly Numbers[];
  /** Its last line says that it is whole. */
  readonly complete: boolean;
}

/**
 * An export, compared line by line with what a log has. Of the body of each line, that is: all else on it is what the server read in the body. Whoever has it tells it of each entry
 * of the log, in their order.
 */
export class ExportFile {
  readonly #lines: AsyncIterator<string>;
  readonly #path: string;
  #next: Entry | undefined;
  #started = false;
  #complete = false;
  #proven = 0;
  #unproven = 0;
  #first: number | null = null;
  #last: number | null = null;
  #missing = 0;
  readonly #missingNumbers: Numbers[] = [];

  constructor(path: string) {
    this.#path = path;
    this.#lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity })[Symbol.asyncIterator]();
  }

  /** The log has this entry, with this body; false: the file has another one of that number. INVALID_ARGUMENT, of the command line, for what is no export. */
  async isAsIn(number: number, body: string): Promise<boolean> {
    for (let line = await this.#peek(); line && line.number <= number; line = await this.#peek()) {
      await this.#take(line);
      if (line.number < number || line.body === null) this.#unproven += 1;
      else if (isSame(line.body, body)) this.#proven += 1;
      else return false;
    }
    return true;
  }

  /** All that the log has was told. */
  async verdict(size: number): Promise<ExportVerdict> {
    let newer = 0;
    for (let line = await this.#peek(); line; line = await this.#peek()) {
      await this.#take(line);
      if (line.number > size) newer += 1;
      else this.#unproven += 1;
    }
    return {
      proven: this.#proven,
      unproven: this.#unproven,
      newer,
      first: this.#first,
      last: this.#last,
      missing: this.#missing,
      missingNumbers: this.#missingNumbers,
      complete: this.#complete,
    };
  }

  async #peek(): Promise<Entry | undefined> {
    if (!this.#started) {
      this.#started = true;
      this.#next = await this.#read();
    }
    return this.#next;
  }

  async #take({ number }: Entry): Promise<void> {
    if (this.#last !== null && number <= this.#last) throw this.#noExport(`entry ${number} comes after ${this.#last}`);
    if (this.#last !== null && number > this.#last + 1) this.#note({ from: this.#last + 1, to: number - 1 });
    this.#first ??= number;
    this.#last = number;
    this.#next = await this.#read();
  }

  #note(numbers: Numbers): void {
    this.#missing += numbers.to - numbers.from + 1;
    if (this.#missingNumbers.length < MAX_TOLD_MISSING) this.#missingNumbers.push(numbers);
  }

  async #read(): Promise<Entry | undefined> {
    const { done, value } = await this.#lines.next().catch((error: unknown) => {
      throw this.#noExport(messageOf(error));
    });
    if (done === true) return undefined;
    const line = Line.safeParse(parseJson(value));
    if (!line.success || this.#complete) throw this.#noExport(`what stands behind entry ${this.#last ?? 0}`);
    if (!('complete' in line.data)) return line.data;
    this.#complete = true;
    return this.#read();
  }

  #noExport(why: string): Error {
    return usage(
      `${this.#path} is no export as lines of JSON: ${why}`,
      'make one with: fairlead audit export --out FILE',
    );
  }
}

/** Of an export the body was read and written again: what is in it counts. */
function isSame(told: string | Readonly<Record<string, unknown>>, body: string): boolean {
  return typeof told === 'string' ? told === body : isDeepStrictEqual(told, parseJson(body));
}
