import { z } from 'zod';

/**
 * Where a page ended, in a list that goes by time. It says all that the order goes by, so the list goes on from there also when what stood there is
 * gone. The id tells those apart that began in the same millisecond.
 */
export interface Place {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly id: string;
}

const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** In milliseconds, until the year 2286. */
const TIME = String.raw`\d{1,13}`;

const placeOf = (pattern: string) =>
  z
    .string()
    .max(96)
    .regex(new RegExp(`^${pattern}$`), 'expected the `next` of an earlier answer');

/** A place as text, `next` of one answer and `after` of the next question: of what has a UUID. */
export const UuidPlace = placeOf(`${TIME}-${UUID}`);
/** The same, of what has some other id. */
export const TextPlace = placeOf(`${TIME}-[A-Za-z0-9._~:-]{1,64}`);
/** The same, of an agent that asks for an identity: those with a token come first. */
export const EnrolmentPlaceText = placeOf(`(invited|uninvited)-${TIME}-${UUID}`);

export function placeText({ atMs, id }: Place): string {
  return `${atMs}-${id}`;
}

/** Of a `UuidPlace` or `TextPlace`. */
export function readPlace(text: string): Place {
  const dash = text.indexOf('-');
  return { atMs: Number(text.slice(0, dash)), id: text.slice(dash + 1) };
}

/** Whether it showed a token, and since when it waits. */
export interface EnrolmentPlace extends Place {
  readonly invited: boolean;
}

export function enrolmentPlaceText({ invited, ...place }: EnrolmentPlace): string {
  return `${invited ? 'invited' : 'uninvited'}-${placeText(place)}`;
}

/** Of an `EnrolmentPlaceText`. */
export function readEnrolmentPlace(text: string): EnrolmentPlace {
  const dash = text.indexOf('-');
  return { invited: text.slice(0, dash) === 'invited', ...readPlace(text.slice(dash + 1)) };
}

/** Negative: the first one began before the other. For lists that begin with the oldest. */
export function comparePlaces(one: Place, other: Place): number {
  if (one.atMs !== other.atMs) return one.atMs - other.atMs;
  if (one.id === other.id) return 0;
  return one.id < other.id ? -1 : 1;
}
