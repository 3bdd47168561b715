import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@fairlead/errors';
import { z } from 'zod';
import { usage } from '../failure.js';
import { parseJson } from '../session/parse-json.js';

/** As `audit export` writes it, or `audit save --bodies`. */
const Entry = z.looseObject({
  number: z.int().min(1),
  body: z.union([z.string(), z.record(z.string(), z.unknown())]).nullable(),
});
type Entry = z.infer<typeof Entry>;
/** The last line of an export. */
const Trailer = z.looseObject({ complete: z.literal(true), count: z.int().min(0), through: z.int().min(0) });
type Trailer = z.infer<typeof Trailer>;

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
  /** Up to which number the log was looked at when it was made, as its last line says; null: that cannot be said of it, for `wrong`, or as `audit save` wrote it. */
  readonly through: number | null;
  /** Why it is not what its last line says, or has none. */
  readonly wrong: string | null;
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
  #trailer: Trailer | undefined;
  #isSaved = false;
  #count = 0;
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
      through: this.#trailer?.through ?? null,
      wrong: this.#wrong,
    };
  }

  /** An export says at its end what is in it. `audit save` writes no such line. */
  get #wrong(): string | null {
    const trailer = this.#trailer;
    if (!trailer) return this.#isSaved ? null : 'its last line, which says that it is whole, is not there';
    const { count, through } = trailer;
    if (count !== this.#count) return `its last line says that it has ${count} entries, and it has ${this.#count}`;
    return (this.#last ?? 0) > through ? `its last line says that it ends with ${through}, and it goes on` : null;
  }

  async #peek(): Promise<Entry | undefined> {
    if (!this.#started) {
      this.#started = true;
      this.#next = await this.#read();
    }
    return this.#next;
  }

  async #take({ number, body }: Entry): Promise<void> {
    this.#isSaved ||= typeof body === 'string';
    if (this.#last !== null && number <= this.#last) throw this.#noExport(`entry ${number} comes after ${this.#last}`);
    if (this.#last !== null && number > this.#last + 1) this.#note({ from: this.#last + 1, to: number - 1 });
    this.#first ??= number;
    this.#last = number;
    this.#count += 1;
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
    const line = parseJson(value);
    const trailer = Trailer.safeParse(line);
    const entry = Entry.safeParse(line);
    if (this.#trailer || (!trailer.success && !entry.success)) {
      throw this.#noExport(`what stands behind entry ${this.#last ?? 0}`);
    }
    if (entry.success) return entry.data;
    this.#trailer = trailer.data;
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
