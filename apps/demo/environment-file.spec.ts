import { parseEnv } from 'node:util';
import { expect, it } from 'vitest';
import { environmentFile } from './environment-file.js';

it('a file of settings gives Node back what went in', () => {
  const env = {
    FAIRLEAD_ENDPOINTS: 'gateway-a:7444,gateway-b:7444',
    EMPTY: '',
    HASH: 'a # b',
    DOLLAR: '$HOME',
    QUOTE: "it's",
  };
  expect(parseEnv(environmentFile(env))).toEqual(env);
});

it.each(['two\nlines', 'a "word"', 'back\\slash'])('refuses %j, which would come back as something else', (value) => {
  expect(() => environmentFile({ NAME: value })).toThrow(/^NAME has a value/);
});
