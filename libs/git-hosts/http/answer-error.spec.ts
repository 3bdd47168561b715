import { describe, expect, it } from 'vitest';
import { hostText } from './answer-error.js';

const SECRET = 'ghp_0123456789/+secret';

describe('what a host says about an error', () => {
  it('is found where each host says it', () => {
    expect(hostText({ message: 'Not Found' }, [])).toBe('Not Found');
    expect(hostText({ message: 'Validation Failed', errors: [{ message: 'key is already in use' }] }, [])).toBe(
      'Validation Failed: key is already in use',
    );
    expect(hostText({ message: { path: ['is taken'], name: ['is taken', 'is too long'] } }, [])).toBe(
      'path is taken: name is taken is too long',
    );
    expect(hostText({ error: 'invalid_token', error_description: 'Token is expired.' }, [])).toBe(
      'invalid_token: Token is expired.',
    );
  });

  it('is one short line without control characters', () => {
    expect(hostText({ message: 'a\u001B[31m\r\nb\u202Ec\u0000' }, [])).toBe('a [31m b c');
    expect(hostText({ message: 'x'.repeat(100_000) }, [])).toHaveLength(201);
  });

  it('never has a secret, however it is spelled', () => {
    const spelled = [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64')];
    for (const text of spelled) {
      const said = hostText({ message: `no ${text} ${text}`, errors: [text, { message: text }], error: [text] }, [
        SECRET,
      ]);
      expect(said).not.toContain(text.replace(/=+$/, ''));
      expect(said).toContain('[redacted]');
    }
    expect(hostText({ message: `${'x'.repeat(190)}${SECRET}` }, [SECRET])).not.toContain('ghp_');
  });

  it('is nothing where nothing can be read', () => {
    const deep = JSON.parse(`{"message":${'['.repeat(20_000)}${']'.repeat(20_000)}}`) as unknown;
    for (const body of [null, undefined, 'text', 5, [], {}, { message: 5 }, { message: '\n' }])
      expect(hostText(body, [])).toBeUndefined();
    expect(() => hostText(deep, [])).not.toThrow();
  });
});
