import type { AuditFilter } from '@fairlead/contracts';

/**
 * What an entry can be found by besides its time and its number: `verb=get` for what is asked for exactly, and words without a sign for text. One index holds all of
 * them, so that any two together are looked up, too.
 */
export type Facet = string;

const MAX_WORDS = 64;
const MAX_WORD_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 256;

type Named = Exclude<keyof AuditFilter, 'from' | 'to' | 'text' | 'entry'>;
/** Filters that are facets, as they are named in the index. */
const NAMED: readonly Named[] = [
  'cluster',
  'user',
  'door',
  'kind',
  'verb',
  'resource',
  'namespace',
  'decision',
  'type',
];

export type NamedFacets = Readonly<Partial<Record<Named, string | undefined>>>;

/** Of an entry; empty values are none. */
export function facetsOf(named: NamedFacets, said: readonly string[]): Facet[] {
  const words = said.flatMap(wordsOf).slice(0, MAX_WORDS);
  return [...new Set([...namedFacets(named), ...words])];
}

/** All of which an entry must have. */
export function facetsWanted(filter: AuditFilter): Facet[] {
  const entry = filter.entry === undefined ? [] : [facet('entry', filter.entry)];
  return [...new Set([...entry, ...namedFacets(filter), ...wordsOf(filter.text ?? '')])];
}

export function facet(name: string, value: string): Facet {
  return `${name}=${storable(value).slice(0, MAX_VALUE_CHARACTERS)}`;
}

function namedFacets(named: NamedFacets): Facet[] {
  return NAMED.flatMap((name) => {
    const value = named[name];
    return value === undefined || value === '' ? [] : [facet(name, value)];
  });
}

/** Letters and digits in a row, without regard to case: `pods/cart-0` are `pods`, `cart` and `0`. */
export function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => word.slice(0, MAX_WORD_CHARACTERS));
}

/** Postgres holds neither NUL nor half of a character in a text. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '\uFFFD').replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
