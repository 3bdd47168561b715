import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs';

const MAX_FILE_BYTES = 8 * 2 ** 20;
const MAX_LINE_CHARS = 16_384;
const TAIL_LINES = 20;

/**
 * The log of one process: a file of at most 8 MiB (the one before it is kept as `.1`), the last lines in memory, and each
 * line to a listener. Writing is synchronous, so a process that floods its output is slowed down, never buffered.
 */
export class BoundedLog {
  readonly path: string;
  readonly #onLine: (line: string) => void;
  #file: number;
  #bytes: number;
  #rest = '';
  #tail: string[] = [];

  constructor(path: string, onLine: (line: string) => void) {
    this.path = path;
    this.#onLine = onLine;
    this.#file = openSync(path, 'a', 0o600);
    this.#bytes = statSync(path).size;
  }

  write(chunk: Buffer): void {
    if (this.#bytes + chunk.length > MAX_FILE_BYTES) this.#rotate();
    writeSync(this.#file, chunk);
    this.#bytes += chunk.length;
    const lines = (this.#rest + chunk.toString('utf8')).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, MAX_LINE_CHARS);
    for (const line of lines) this.#line(line.slice(0, MAX_LINE_CHARS));
  }

  /** The last lines, oldest first. */
  tail(): readonly string[] {
    return this.#rest === '' ? this.#tail : [...this.#tail, this.#rest];
  }

  /** Begins a new life of the process: what the one before said is no longer the tail. */
  forgetTail(): void {
    this.#tail = [];
    this.#rest = '';
  }

  close(): void {
    closeSync(this.#file);
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    this.#tail = [...this.#tail.slice(1 - TAIL_LINES), line];
    this.#onLine(line);
  }

  #rotate(): void {
    closeSync(this.#file);
    renameSync(this.path, `${this.path}.1`);
    this.#file = openSync(this.path, 'a', 0o600);
    this.#bytes = 0;
  }
}
