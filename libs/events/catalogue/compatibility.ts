import type { JsonSchema } from './json-schema.js';

/** Of one document: the schema of each type of event. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

/** They tell people something and readers nothing. */
const ONLY_WORDS: ReadonlySet<string> = new Set(['description', 'title', 'examples', '$schema']);
/** These are compared part by part. */
const IN_PARTS: ReadonlySet<string> = new Set([
  'properties',
  'required',
  'items',
  'anyOf',
  'enum',
  'additionalProperties',
]);

/** What to do instead. */
const NEXT_VERSION = 'add the next version of the type';

/**
 * One sentence for each change that readers of published events did not agree to; none: only additions. An addition is a new type, a
 * new field that may be absent, and a new value of an enumeration. `instead`: what the sentence says to do.
 */
export function incompatibilities(published: Schemas, fresh: Schemas, instead: string = NEXT_VERSION): string[] {
  return Object.entries(published).flatMap(([type, before]) => {
    const now = fresh[type];
    const found = now ? changesIn(before, now, '') : ['it is gone'];
    return found.map((what) => `${type}: ${what}. Leave it as it is published, and ${instead}`);
  });
}

/** Where events of a type are, and who tells them, as AsyncAPI has it. */
export interface Channel {
  readonly address: string;
  readonly parameters: {
    readonly tenant?: unknown;
    readonly teller: { readonly description?: string; readonly examples: readonly string[] };
  };
}

/**
 * The same of the subjects that readers subscribe to: those stay, and a type may be told by more, but not by fewer. A type that is gone is one of `incompatibilities`
 * already.
 */
export function movedChannels(
  published: Readonly<Record<string, Channel>>,
  fresh: Readonly<Record<string, Channel>>,
): string[] {
  return Object.entries(published).flatMap(([type, before]) => {
    const now = fresh[type];
    if (!now) return [];
    const moved = before.address === now.address ? [] : [`its subject was ${before.address} and is ${now.address}`];
    const tellers = new Set(now.parameters.teller.examples);
    const silent = before.parameters.teller.examples.filter((teller) => !tellers.has(teller));
    const found = [...moved, ...silent.map((teller) => `${teller} no longer tells it`)];
    return found.map((what) => `${type}: ${what}. Leave it as it is published, and ${NEXT_VERSION}`);
  });
}

function changesIn(before: JsonSchema, now: JsonSchema, at: string): string[] {
  return [
    ...keywordChanges(before, now, at),
    ...valueChanges(before, now, at),
    ...fieldChanges(before, now, at),
    ...partChanges(before, now, at),
  ];
}

function keywordChanges(before: JsonSchema, now: JsonSchema, at: string): string[] {
  const keywords = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...keywords]
    .filter((keyword) => !ONLY_WORDS.has(keyword) && !IN_PARTS.has(keyword))
    .filter((keyword) => !same(before[keyword], now[keyword]))
    .map((keyword) => `${keyword} of ${named(at)} was ${shown(before[keyword])} and is ${shown(now[keyword])}`);
}

function valueChanges(before: JsonSchema, now: JsonSchema, at: string): string[] {
  if (!before.enum && !now.enum) return [];
  if (!before.enum || !now.enum) return [`${named(at)} ${now.enum ? 'became' : 'is no longer'} an enumeration`];
  const gone = before.enum.filter((value) => !now.enum?.includes(value));
  return gone.map((value) => `${named(at)} can no longer be ${shown(value)}`);
}

function fieldChanges(before: JsonSchema, now: JsonSchema, at: string): string[] {
  const [fieldsBefore, fieldsNow] = [before.properties ?? {}, now.properties ?? {}];
  const [neededBefore, neededNow] = [new Set(before.required), new Set(now.required)];
  const changes: string[] = [];
  for (const [name, schema] of Object.entries(fieldsBefore)) {
    const path = at === '' ? name : `${at}.${name}`;
    const fieldNow = fieldsNow[name];
    if (!fieldNow) {
      changes.push(`the field ${path} is gone`);
      continue;
    }
    if (neededBefore.has(name) && !neededNow.has(name)) changes.push(`the field ${path} may be absent now`);
    if (!neededBefore.has(name) && neededNow.has(name)) changes.push(`the field ${path} may no longer be absent`);
    changes.push(...changesIn(schema, fieldNow, path));
  }
  for (const name of Object.keys(fieldsNow)) {
    if (fieldsBefore[name] || !neededNow.has(name)) continue;
    changes.push(
      `the new field ${at === '' ? name : `${at}.${name}`} has no default, which events of before do not have`,
    );
  }
  return changes;
}

function partChanges(before: JsonSchema, now: JsonSchema, at: string): string[] {
  return [
    ...partChange(before.items, now.items, `${at}[]`),
    ...partChange(asSchema(before.additionalProperties), asSchema(now.additionalProperties), `${at}.*`),
    ...choiceChanges(before.anyOf, now.anyOf, at),
  ];
}

function partChange(before: JsonSchema | undefined, now: JsonSchema | undefined, at: string): string[] {
  if (!before && !now) return [];
  if (!before || !now) return [`${named(at)} ${now ? 'has a schema now' : 'has no schema any more'}`];
  return changesIn(before, now, at);
}

function choiceChanges(before: JsonSchema['anyOf'], now: JsonSchema['anyOf'], at: string): string[] {
  if (!before && !now) return [];
  if (before?.length !== now?.length) return [`${named(at)} is something else than before`];
  return (before ?? []).flatMap((choice, index) => changesIn(choice, now?.[index] ?? {}, at));
}

function asSchema(value: JsonSchema | boolean | undefined): JsonSchema | undefined {
  return typeof value === 'boolean' ? { const: value } : value;
}

function named(at: string): string {
  return at === '' ? 'the event' : `the field ${at}`;
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
