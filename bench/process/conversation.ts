import { BenchError } from './bench-error.js';
import { Program } from './program.js';

/** A program that is told things, a line each, and answers with a line each. */
export class Conversation extends Program {
  #lines: AsyncIterator<string> | undefined;

  override async start(): Promise<void> {
    this.#lines = await this.startRead();
  }

  say(line: string): void {
    this.write(`${line}\n`);
  }

  /** The next line. Throws BenchError if none comes in time. */
  async answer(timeoutMs: number): Promise<string> {
    if (!this.#lines) throw new BenchError('it was not started');
    const timer = setTimeout(() => void this.kill(), timeoutMs);
    try {
      const { value, done } = await this.#lines.next();
      if (done) throw new BenchError('it ended, or did not answer in time');
      return value;
    } finally {
      clearTimeout(timer);
    }
  }
}
