import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AccessStatement } from './access-statement.js';
import { isPlainStatement } from './plain-statement.js';

const uuid = '7b0c6f4e-2f5a-4c7e-9a57-8f1f4b1c2d3e';
const rule = {
  grantId: uuid,
  effect: 'allow',
  groups: ['fairlead:view'],
  narrowing: {
    verbs: ['get', '*'],
    apiGroups: ['', 'apps'],
    resources: ['pods', '*/log', 'pods/log'],
    namespaces: ['shop'],
    names: ['web'],
    nonResourceUrls: ['/healthz/*'],
  },
};
const statement = {
  version: 1,
  tenantId: 'default',
  clusterId: uuid,
  tokenId: uuid,
  kind: 'login',
  user: 'corp:alice',
  rules: [rule, { ...rule, effect: 'deny', narrowing: {} }],
  notBefore: '2026-11-27T10:00:00.000Z',
  openUntil: '2026-12-31T23:59:59.999Z',
  streamsUntil: '2027-02-28T00:00:00.000Z',
  serial: uuid,
};

const repeated = (value: unknown, lengths: readonly number[]): unknown[] =>
  lengths.map((length) => (typeof value === 'string' ? value.repeat(length) : Array.from({ length }, () => rule)));
/** Values at the edges of what any field may be; undefined: nothing is there. */
const EDGES: readonly unknown[] = [
  [undefined, null, true, 0, 1, 2, '', '*', 'a', '-', 'A', 'é', ' ', 'a ', 'a b', 'a\n', '/', '/*', '/a*b', '*/log'],
  ['pods/*', '%', 'system:masters', 'System:x', 'corp:bob', 'administrator', 'workload', 'deny'],
  [uuid, uuid.toUpperCase(), `${uuid}0`, `0${uuid}`, '00000000-0000-0000-0000-000000000000'],
  ['7b0c6f4e-2f5a-0c7e-9a57-8f1f4b1c2d3e', '7b0c6f4e-2f5a-4c7e-7a57-8f1f4b1c2d3e'],
  ['2026-02-29T00:00:00.000Z', '2028-02-29T00:00:00.000Z', '2026-04-31T00:00:00.000Z', '2026-06-31T00:00:00.000Z'],
  ['2026-12-31T24:00:00.000Z', '2026-01-01T00:60:00.000Z', '2026-01-01T00:00:60.000Z', '2026-13-01T00:00:00.000Z'],
  ['2026-11-27T10:00:00Z', '2026-11-27T10:00:00.000+00:00', '0000-01-01T00:00:00.000Z', '2026-01-00T00:00:00.000Z'],
  ['+002026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z ', '2026-00-01T00:00:00.000Z', '2026-01-32T00:00:00.000Z'],
  [[], ['*'], [''], [1], [null], {}, { verbs: [] }, { onlyFrom: ['x'] }, { constructor: ['x'] }, [rule], [{}]],
  repeated('a', [63, 64, 253, 254, 256, 257]),
  repeated(rule, [64, 65]),
  [1, 16, 17, 64, 65].map((length) => Array.from({ length }, () => 'a')),
].flat();

/** Every place of a value, the value itself left out. */
function placesOf(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[...at, key], ...placesOf(inner, [...at, key])]);
}

/** As it comes from JSON, with another value at one place; undefined: without it. */
function withAt(value: unknown, [key = '', ...rest]: readonly string[], put: unknown): unknown {
  const copy = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
  copy[key] = rest.length > 0 ? withAt(copy[key], rest, put) : put;
  return JSON.parse(JSON.stringify(copy));
}

/** Where something stands, and beside it where nothing does. */
const PLACES = placesOf(statement).flatMap((at) => [at, [...at.slice(0, -1), 'more']]);

/** Is it plain? Then the schema takes it, and as it is. */
function judged(said: unknown): boolean {
  const isPlain = isPlainStatement(said);
  expect(isPlain ? AccessStatement.parse(said) : said).toEqual(said);
  return isPlain;
}

describe('a plain statement', () => {
  it('is what is mostly written', () => {
    expect(judged(statement)).toBe(true);
  });

  it('is one that the schema takes as it is, whatever stands anywhere in it', () => {
    const plain = PLACES.flatMap((at) => EDGES.map((put) => withAt(statement, at, put))).filter(judged);
    expect(plain.length).toBeGreaterThan(200);
    const texts = fc.oneof(
      fc.string(),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    );
    fc.assert(fc.property(fc.constantFrom(...PLACES), texts, (at, put) => void judged(withAt(statement, at, put))));
  });

  it.each([null, 1, 'x', [], {}, [statement]])('is not %j', (said) => {
    expect(judged(said)).toBe(false);
  });
});
