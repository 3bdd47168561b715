import { ManifestValues } from '@fairlead/contracts';
import { expect, it } from 'vitest';
import { parseInput } from './invalid-input.js';

it.each([
  [{ proxy: {} }, 'body.proxy.httpsProxy: is missing'],
  [{ podLabels: { a: false } }, 'body.podLabels.a: has to be a text, and is a boolean: in YAML, write it in quotes'],
  [{ tolerations: [{ key: 'a', value: 1 }] }, 'body.tolerations.0.value: has to be a text, and is a number: in YAML,'],
  [{ hostNetwork: 'yes' }, 'body.hostNetwork: Invalid input: expected boolean, received string'],
])('says of %j what is wrong in words', (values, refusal) => {
  expect(() => parseInput(ManifestValues, values, 'body')).toThrow(refusal);
});
