import { describe, expect, it } from 'vitest';
import { ManifestBounds, readManifest } from './manifest.js';

const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: n}\n';
const read = (text: string): unknown[] => [...readManifest(text)];

const tooLarge = expect.objectContaining({ code: 'TOO_LARGE' }) as Error;

describe('the manifest of a bundle', () => {
  it('is one object a document', () => {
    expect(read(`# nothing\n---\n${head}data: {a: b}\n---\n${head.replace('x', 'y')}---\n`)).toMatchObject([
      { metadata: { name: 'x' }, data: { a: 'b' } },
      { metadata: { name: 'y' } },
    ]);
  });

  it.each([
    ['a key twice', `${head}data:\n  a: 1\n  a: 2\n`, /a key twice/],
    ['a key twice, in brackets', `${head}data: {"1": 1, 1: 2}\n`, /a key twice/],
    ['keys that are no text', `${head}data: {[a]: 1}\n`, /a key that is no text/],
    ['a List', 'apiVersion: v1\nkind: List\nmetadata: {name: x}\nitems: []\n', /is a List/],
    ['an object twice', `${head}---\n${head}`, /ConfigMap n\/x twice/],
    ['many aliases', `a: &a x\nb: [${'*a, '.repeat(21)}]\n`, /too many aliases/],
    ['a document behind the end of another', `${head}...\n${head}`, /not YAML/],
  ])('is refused with %s', (_what, text, why) => {
    expect(() => read(text)).toThrow(why);
  });

  it('may be as large as those of the tools', () => {
    const lines = Array.from(
      { length: 20_000 },
      (_, at) => `  key${at}: a text that says what it, and its value, is for`,
    );
    expect(read(`${head}data:\n${lines.join('\n')}\n`)).toHaveLength(1);
  }, 60_000);

  it.each([
    ['keys', `${head}data:\n${Array.from({ length: 60_000 }, (_, at) => `  k${at}: v`).join('\n')}\n`],
    ['numbers', `a: [${'1,'.repeat(900_000)}1]`],
    ['brackets', '['.repeat(100_000)],
    ['levels in brackets', '['.repeat(201)],
    ['levels in one line', `${'- '.repeat(1_000)}x`],
    ['marks that are errors', '" '.repeat(200_000)],
  ])('is refused before it is read with too many %s', (_what, text) => {
    expect(() => new ManifestBounds().take(text, 1)).toThrow(tooLarge);
    expect(() => read(text)).toThrow(tooLarge);
  });

  it('is refused with too many values in all', () => {
    const bounds = new ManifestBounds();
    const document = `a: [${'1,'.repeat(90_000)}1]`;
    for (let number = 1; number <= 3; number += 1) bounds.take(document, number);
    expect(() => bounds.take(document, 4)).toThrow(tooLarge);
  });
});
