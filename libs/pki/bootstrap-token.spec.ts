import { FairleadError } from '@fairlead/errors';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatToken, parseToken, type BootstrapToken } from './index.js';

const tokens: fc.Arbitrary<BootstrapToken> = fc.record({
  pin: fc.stringMatching(/^[0-9a-f]{64}$/),
  id: fc.oneof(fc.uuid(), fc.stringMatching(/^[A-Za-z0-9-]{1,64}$/)),
  secret: fc.uint8Array({ minLength: 32, maxLength: 32 }),
});
const pin = 'ab'.repeat(32);
const secret = Buffer.alloc(32, 7).toString('base64url');

/** The same error whatever the text: so it repeats none of it. */
const malformed =
  'TOKEN_MALFORMED: the bootstrap token is not of the form fl1.<pin>.<id>.<secret>; fetch a fresh import manifest';

function attempt(read: () => string): string {
  try {
    return read();
  } catch (error) {
    return error instanceof FairleadError ? `${error.code}: ${error.message}` : String(error);
  }
}

describe('bootstrap tokens', () => {
  it('round-trip', () => {
    fc.assert(
      fc.property(tokens, (token) => {
        expect(parseToken(formatToken(token))).toEqual(token);
      }),
    );
  });

  it('have one spelling each, and errors never repeat the text', () => {
    const nearly = fc.tuple(tokens, fc.nat(), fc.string({ maxLength: 2 })).map(([token, at, extra]) => {
      const text = formatToken(token);
      const index = at % text.length;
      return text.slice(0, index) + extra + text.slice(index + 1);
    });
    fc.assert(
      fc.property(nearly, (text) => {
        const result = attempt(() => formatToken(parseToken(text)));
        expect([text, malformed]).toContain(result);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    '',
    'fl1',
    `fl2.${pin}.id.${secret}`,
    `fl1.${pin}.id`,
    `fl1.${pin}..${secret}`,
    `fl1.${pin.toUpperCase()}.id.${secret}`,
    `fl1.${pin.slice(2)}.id.${secret}`,
    `fl1.${pin}.id.${secret.slice(1)}`,
    `fl1.${pin}.id.${secret}=`,
    `fl1.${pin}.id.${secret}\n`,
    ` fl1.${pin}.id.${secret}`,
    `fl1.${pin}.id.${secret}.more`,
    `fl1.${pin}.a_b.${secret}`,
    `fl1.${pin}.${'a'.repeat(65)}.${secret}`,
  ])('refuses %j', (text) => {
    expect(() => parseToken(text)).toThrow(expect.objectContaining({ code: 'TOKEN_MALFORMED' }));
  });

  it('refuses the other spellings of the last character', () => {
    const text = `fl1.${pin}.id.${Buffer.alloc(32).toString('base64url')}`;
    expect(parseToken(text).secret).toEqual(new Uint8Array(32));
    expect(() => parseToken(`${text.slice(0, -1)}B`)).toThrow(expect.objectContaining({ code: 'TOKEN_MALFORMED' }));
  });

  it('does not write a token with a short secret', () => {
    expect(() => formatToken({ pin, id: 'id', secret: new Uint8Array(16) })).toThrow(/not of the form/);
  });
});
