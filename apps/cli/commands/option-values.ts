import { InvalidArgumentError, Option } from 'commander';
import { usage } from '../failure.js';
import type { Format } from '../output/print.js';

/** What a command that prints something is asked for. */
export interface Printed {
  readonly output: Format;
}

/** The same of one that asks first. */
export interface Confirmed extends Printed {
  readonly yes?: true;
}

/** `-o`, with the formats that a command has. */
export function outputOption(...formats: Format[]): Option {
  return new Option('-o, --output <format>', 'how to print').choices(formats).default(formats[0]);
}

/** `90s`, `10m`, `2h`, `4d`, in seconds. */
export function durationSeconds(text: string): number {
  const [, amount, unit = 's'] = /^(\d{1,6})([smhd])?$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError('Write it like 90s, 10m, 2h or 4d.');
  return Number(amount) * { s: 1, m: 60, h: 3_600, d: 86_400 }[unit as 's' | 'm' | 'h' | 'd'];
}

/** `90d`, in seconds; 0 for `never`, since an option that is null counts as one without a value. */
export function daysOrNever(text: string): number {
  if (text === 'never') return 0;
  const days = Number(/^(\d{1,3})d$/.exec(text)?.[1] ?? 0);
  if (days < 1 || days > 730) throw new InvalidArgumentError('Write it like 90d, 1d to 730d, or never.');
  return days * 86_400;
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

/** A log has more entries than any other option may say. */
const ENTRIES = /^\d{1,15}$/;

/** So many entries of an audit log; those up to a number are as many. */
export function entryCount(text: string): number {
  if (!ENTRIES.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}

/** Of an entry of an audit log, from 1 on. */
export function entryNumber(text: string): number {
  if (ENTRIES.test(text) && Number(text) > 0) return Number(text);
  throw usage(`${text} is no number of an entry`, 'see fairlead audit search, or fairlead subscriber dead-letters');
}

export function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('Expected a port, 1 to 65535.');
  return port;
}

/** Of an option that may be repeated. */
export function collected(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text];
}

/** `key=value`, of an option that may be repeated. */
export function pairs(text: string, before: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) throw new InvalidArgumentError('Write it as key=value.');
  return { ...before, [key]: value };
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 } as const;

/** `2026-03-01T08:00:00Z`, or an age such as `7d`, as the first. */
export function timeOrAge(text: string, now: Date): string {
  const age = /^(\d{1,5})([mhdw])$/.exec(text);
  const atMs = age
    ? now.getTime() - Number(age[1]) * UNITS_MS[age[2] as keyof typeof UNITS_MS]
    : /^\d{4}-\d{2}-\d{2}/.test(text)
      ? Date.parse(text)
      : Number.NaN;
  if (!Number.isNaN(atMs)) return new Date(atMs).toISOString();
  throw usage(`${text} is no time`, 'write 2026-03-01T08:00:00Z, or an age such as 7d');
}
