import { oneLine } from '@fairlead/errors';
import type { Io } from '../io.js';

export type Format = 'table' | 'json' | 'name';

export function printJson(io: Io, value: unknown): void {
  // JSON escapes what moves a cursor, but for the second block of control characters, and what changes direction.
  const text = JSON.stringify(value, null, 2).replaceAll(/[\u007f-\u009f\p{Cf}]/gu, escaped);
  io.stdout.write(`${text}\n`);
}

/** As they are, but that nothing in them moves the cursor: most hold what a server said. A line may have several lines. */
export function printLines(io: Io, ...lines: string[]): void {
  io.stdout.write(lines.map((line) => `${harmless(line)}\n`).join(''));
}

/** What became of it: the thing itself in JSON, or some lines for people. */
export function printResult(io: Io, output: Format, value: unknown, ...lines: string[]): void {
  if (output === 'json') printJson(io, value);
  else printLines(io, ...lines);
}

/** For people only: on a terminal, beside what standard output carries. */
export function printHint(io: Io, ...lines: string[]): void {
  if (io.stderr.isTTY) io.stderr.write(lines.map((line) => `${line}\n`).join(''));
}

/** What somebody has to read now, whether or not anything reads standard output. Nothing in it moves the cursor. */
export function printNotice(io: Io, ...lines: string[]): void {
  io.stderr.write(lines.map((line) => `${harmless(line)}\n`).join(''));
}

/** Rows below a heading, columns as wide as they need; cells cannot move the cursor. */
export function printTable(io: Io, heading: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const cells = [heading, ...rows].map((row) => row.map((cell) => textOf(cell)));
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  for (const [index, row] of cells.entries()) {
    const padded = row.map((text, column) => {
      const spaces = ' '.repeat(Math.max(0, (widths[column] ?? 0) - text.length));
      return paint(io, index === 0 ? 'bold' : colourOf(rows[index - 1]?.[column]), text) + spaces;
    });
    io.stdout.write(`${padded.join('   ').trimEnd()}\n`);
  }
}

interface PrintedList<Item> {
  /** Below its name, as it stands in JSON. */
  readonly list: Readonly<Record<string, readonly Item[]>>;
  /** With `-o name`. */
  readonly name: (item: Item) => string;
  /** What people are told where there is nothing in it, beside standard output, as kubectl does it. */
  readonly none: readonly string[];
  readonly heading: readonly string[];
  readonly row: (item: Item) => readonly Cell[];
}

/** A list in the format that was asked for. */
export function printList<Item>(io: Io, output: Format, { list, name, none, heading, row }: PrintedList<Item>): void {
  const items = Object.values(list).flat();
  if (output === 'json') return printJson(io, list);
  if (output === 'name') return printLines(io, ...items.map(name));
  if (items.length === 0) return printNotice(io, ...none);
  printTable(io, heading, items.map(row));
}

export type Cell = string | { readonly text: string; readonly colour: Colour };
export type Colour = keyof typeof CODES;

const CODES = { bold: 1, red: 31, green: 32, yellow: 33 } as const;

function harmless(line: string): string {
  return line.replaceAll(/[^\P{Cc}\n]|\p{Cf}/gu, '?');
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

function paint(io: Io, colour: Colour | undefined, text: string): string {
  if (!colour || !io.stdout.isTTY || io.config.noColor) return text;
  return `\u001b[${CODES[colour]}m${text}\u001b[0m`;
}

function textOf(cell: Cell): string {
  return oneLine(typeof cell === 'string' ? cell : cell.text) || '-';
}

function colourOf(cell: Cell | undefined): Colour | undefined {
  return typeof cell === 'object' ? cell.colour : undefined;
}
