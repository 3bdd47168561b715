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

/** What may follow a catalog repository in a cluster. */
export const TOOLS = ['flux', 'argocd'];

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
export function entryNumber(text: string, next = 'see: fairlead audit search'): number {
  if (ENTRIES.test(text) && Number(text) > 0) return Number(text);
  throw usage(`${text} is no number of an entry: they begin with 1`, next);
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

/** `2026-03-01` begins with that day in UTC; a time carries its zone, so that nobody has to guess; `7d` is an age. */
export function timeOrAge(text: string, now: Date): string {
  return periodOf(text, now).from;
}

/** The same of what ends there: `2026-03-01` with that day, so that it is included. */
export function endTimeOrAge(text: string, now: Date): string {
  return periodOf(text, now).until;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Both are the same but of a day, which is a whole one. */
function periodOf(text: string, now: Date): { readonly from: string; readonly until: string } {
  const at = new Date(startMs(text, now));
  if (Number.isNaN(at.getTime()))
    throw usage(`${text} is no time`, 'write 2026-03-01, 2026-03-01T08:00:00Z, or an age such as 7d');
  const until = DAY.test(text) ? new Date(at.getTime() + UNITS_MS.d) : at;
  return { from: at.toISOString(), until: until.toISOString() };
}

function startMs(text: string, now: Date): number {
  const [, amount, unit] = /^(\d{1,5})([mhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return now.getTime() - Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
  const isWritten = DAY.test(text) || TIME.test(text);
  return isWritten && isInCalendar(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
}

/** 31 November is read as a day of December. */
function isInCalendar(day: string): boolean {
  const at = new Date(`${day}T00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}
