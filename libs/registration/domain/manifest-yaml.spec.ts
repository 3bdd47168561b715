import { parse } from 'yaml';
import { expect, it } from 'vitest';
import { manifestYaml } from './manifest-yaml.js';

const written = (data: Readonly<Record<string, string>>): string =>
  manifestYaml({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'of-somebody' }, data });

/** By kubectl's YAML, nearly, and by today's. */
const readBack = (text: string): unknown[] =>
  (['1.1', '1.2'] as const).map((version) => (parse(text, { version }) as { data: unknown }).data);

it.each(['\u0085', '\u2028', '\u2029'])('lets no text go on as fields of the manifest, by the line break %j', (end) => {
  const text = ['x', 'spec:', '  hostNetwork:', '    true', '---', 'kind:', ' ClusterRoleBinding'].join(end);
  const yaml = written({ a: text, b: `${'long '.repeat(20)}\n${text}`, [`k${end}y`]: 'c' });
  expect(yaml).not.toContain(end);
  const same = { a: text, b: `${'long '.repeat(20)}\n${text}`, [`k${end}y`]: 'c' };
  expect(readBack(yaml)).toEqual([same, same]);
});

it('keeps texts texts that are something else in YAML 1.1', () => {
  const odd = [
    'yes',
    'On',
    'n',
    'NO',
    '1_000',
    '+1_0',
    '1e3_0',
    '.5_0',
    '0x_1',
    '0b11',
    '1:30',
    '<<',
    '~',
    '0777',
    '.inf',
  ];
  const data = Object.fromEntries(odd.map((each) => [each, each]));
  expect(readBack(written(data))).toEqual([data, data]);
});

it('keeps every other text, too', () => {
  const texts = [
    '',
    ' a ',
    '\n\ttab\n',
    'ünicode',
    '\ufeffx',
    'a: b # c',
    '---',
    '"\\u2028"',
    "it's",
    '\u007f',
    '😀',
    'a\n\n b\n',
  ];
  const data = Object.fromEntries(texts.map((each, at) => [`k${at}`, each]));
  expect(readBack(written(data))).toEqual([data, data]);
});
