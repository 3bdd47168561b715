import { FairleadError } from '@fairlead/errors';

/** What an agent needs to enrol: whom to trust, and who asks. */
export interface BootstrapToken {
  /** SHA-256 of the root's SubjectPublicKeyInfo, hex: the agent sends nothing before the gateway's chain ends in it. */
  readonly pin: string;
  /** Public: names the token in logs and in the store. */
  readonly id: string;
  /** 32 random bytes. */
  readonly secret: Uint8Array;
}

const SECRET_BYTES = 32;
const TOKEN = /^fl1\.([0-9a-f]{64})\.([A-Za-z0-9-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** `fl1.<pin>.<id>.<secret, base64url>`. TOKEN_MALFORMED for parts it could not read back. */
export function formatToken(token: BootstrapToken): string {
  const text = `fl1.${token.pin}.${token.id}.${Buffer.from(token.secret).toString('base64url')}`;
  parseToken(text);
  return text;
}

/** Reads exactly what formatToken writes. TOKEN_MALFORMED, with a message that never repeats any of the text. */
export function parseToken(text: string): BootstrapToken {
  const [, pin, id, encoded] = TOKEN.exec(text) ?? [];
  const secret = Buffer.from(encoded ?? '', 'base64url');
  // The last character carries two unused bits: without the second check four texts would be one token.
  if (!pin || !id || secret.length !== SECRET_BYTES || secret.toString('base64url') !== encoded) {
    throw new FairleadError(
      'TOKEN_MALFORMED',
      'the bootstrap token is not of the form fl1.<pin>.<id>.<secret>; fetch a fresh import manifest',
    );
  }
  return { pin, id, secret: new Uint8Array(secret) };
}
