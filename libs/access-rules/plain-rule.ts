import { MAX_GROUP, MAX_GROUPS, MAX_ITEM, MAX_ITEMS, NARROWING_WORDS, type AccessRule } from './rule.js';

/** As ids are made: in lower case. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** By name, and nothing that every object has. */
const WORDS: ReadonlyMap<string, RegExp> = new Map(Object.entries(NARROWING_WORDS));

/**
 * True only of what the schema `AccessRule` takes and gives back as it is; false says nothing, and the schema is to be asked. A rule of a statement is looked at
 * while a tunnel waits: the schema takes three times as long, and leaves six times the garbage. Of what came out of `JSON.parse`.
 */
export function isPlainRule(value: unknown): value is AccessRule {
  if (!isPlainObject(value) || Object.keys(value).length !== 4) return false;
  const { grantId, effect, groups, narrowing } = value;
  return (
    isPlainUuid(grantId) &&
    (effect === 'allow' || effect === 'deny') &&
    Array.isArray(groups) &&
    groups.length <= MAX_GROUPS &&
    groups.every((group) => typeof group === 'string' && group.length > 0 && group.length <= MAX_GROUP) &&
    isPlainObject(narrowing) &&
    Object.keys(narrowing).every((part) => areWords(narrowing[part], WORDS.get(part)))
  );
}

/** A UUID in lower case. */
export function isPlainUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function areWords(value: unknown, pattern: RegExp | undefined): boolean {
  return (
    pattern !== undefined &&
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_ITEMS &&
    value.every((word) => typeof word === 'string' && word.length <= MAX_ITEM && pattern.test(word))
  );
}
