import { placeText } from '@fairlead/contracts';
import type { Script } from './script.js';

/** A page of a scripted list as it stands, by the place of each. */
export function pageByPlace<Item>(
  script: Script,
  all: readonly Item[],
  after: string | undefined,
  placeOf: (item: Item) => string,
): { items: Item[]; next?: string } {
  const from = after === undefined ? 0 : 1 + all.findIndex((item) => placeOf(item) === after);
  const items = all.slice(from, from + script.pageSize);
  const last = items.at(-1);
  return last && from + items.length < all.length ? { items, next: placeOf(last) } : { items };
}

/** Of what says itself since when it is. */
export function placeSince(since: string, id: string): string {
  return placeText({ atMs: Date.parse(since), id });
}
