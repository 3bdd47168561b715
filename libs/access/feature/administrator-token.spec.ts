import { expect, it } from 'vitest';
import { checkAdministratorToken } from './administrator-token.js';

it.each(['0123456789abcdef0123456789abcdef', 'AZaz09._+/-'.repeat(3), `${'a'.repeat(32)}==`])(
  'takes %j for the administrator',
  (token) => {
    expect(() => checkAdministratorToken(token)).not.toThrow();
  },
);

it.each([
  ['short', 'a'.repeat(31), 'at least 32'],
  ['what a door reads as a secret and a statement', `${'a'.repeat(32)}~${'b'.repeat(32)}`, 'may hold'],
  ['what no header carries', `${'a'.repeat(32)} b`, 'may hold'],
])('refuses one that is %s, without telling it', (_, token, why) => {
  expect(() => checkAdministratorToken(token)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(why) as string }) as Error,
  );
  expect(() => checkAdministratorToken(token)).not.toThrow(token);
});
