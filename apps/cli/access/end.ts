import { InvalidArgumentError, Option, type Command } from 'commander';
import { durationSeconds } from '../commands/option-values.js';
import { usage } from '../failure.js';

export interface EndOptions {
  /** Seconds. */
  readonly for?: number;
  /** ISO 8601; or `never`. */
  readonly until?: string;
}

/** `--for` and `--until`, of which one is given. */
export function addEndOptions(command: Command): Command {
  return command
    .addOption(new Option('--for <duration>', 'for so long: 90m, 2h, 4d').argParser(durationSeconds).conflicts('until'))
    .addOption(
      new Option('--until <time>', 'until then: 2026-12-01 (that day included), 2026-12-01T18:00Z, or never').argParser(
        endTime,
      ),
    );
}

/** When it ends, ISO 8601; null: never. It has to be said. */
export function endOf({ for: seconds, until }: EndOptions, now: Date): string | null {
  if (until !== undefined) return until === 'never' ? null : until;
  if (seconds !== undefined) return new Date(now.getTime() + seconds * 1_000).toISOString();
  throw usage('it is not said how long it lasts', 'add --for 4d, --until 2026-12-01, or --until never');
}

/** `2026-12-01` ends with that day in UTC; a time carries its zone, so that nobody has to guess. */
export function endTime(text: string): string {
  if (text === 'never') return text;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = new Date(isDay ? `${text}T23:59:59Z` : text);
  if (!(isDay || isTime) || Number.isNaN(at.getTime()) || !isInCalendar(text.slice(0, 10))) {
    throw new InvalidArgumentError('Write it like 2026-12-01, 2026-12-01T18:00Z, or never.');
  }
  return at.toISOString();
}

/** How people are told. */
export function endText(expiresAt: string | null): string {
  return expiresAt ?? 'never';
}

/** 30 February is read as a day of March. */
function isInCalendar(day: string): boolean {
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day);
}
