import type { AuditFilter } from '@fairlead/contracts';

/**
 * What an entry can be found by besides its time and its number: `verb=get` for what is asked for exactly, and words without a sign for text. One index holds all of
 * them, so that any two together are looked up, too.
 */
export type Facet = string;

const MAX_WORDS = 64;
const MAX_WORD_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 256;

type Named = Exclude<keyof AuditFilter, 'from' | 'to' | 'text' | 'entry' | 'id' | 'refused' | 'status'>;
/** Filters that are facets, as they are named in the index. */
const NAMED: readonly Named[] = [
  'trace',
  'cluster',
  'user',
  'address',
  'proof',
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

/** `all`: an entry must have each of these; `anyOf`: and one of each of these lists. */
export interface FacetsWanted {
  readonly all: readonly Facet[];
  readonly anyOf: readonly (readonly Facet[])[];
}

export function facetsWanted(filter: AuditFilter): FacetsWanted {
  const { entry, status, id, refused } = filter;
  const exact = [
    ...(entry === undefined ? [] : [facet('entry', entry)]),
    ...(status === undefined ? [] : [facet('status', String(status))]),
    ...namedFacets(filter),
    ...wordsOf(filter.text ?? ''),
  ];
  const choices = [...(id === undefined ? [] : [idFacets(id)]), ...(refused === undefined ? [] : [REFUSED[refused]])];
  const single = choices.flatMap((choice) => (choice.length === 1 ? choice : []));
  return { all: [...new Set([...exact, ...single])], anyOf: choices.filter((choice) => choice.length > 1) };
}

/** Of an intent, of which an outcome is awaited; of the outcome that ends the waiting; and of all else that is about the passage of this id. */
export const passageFacet = (id: string): Facet => facet('passage', id);
export const outcomeFacet = (id: string): Facet => facet('outcome', id);
export const aboutFacet = (id: string): Facet => facet('about', id);

function idFacets(id: string): Facet[] {
  const lower = id.toLowerCase();
  return [passageFacet(lower), outcomeFacet(lower), aboutFacet(lower)];
}

/** What the gateway let go on, and somebody beyond it refused. */
export const REFUSED_BEYOND: Facet = facet('refused', 'beyond');
const REFUSED_AT_DOOR: Facet = facet('decision', 'refused');
const REFUSED = {
  door: [REFUSED_AT_DOOR],
  beyond: [REFUSED_BEYOND],
  anywhere: [REFUSED_AT_DOOR, REFUSED_BEYOND],
} as const;

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
