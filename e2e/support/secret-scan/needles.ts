import { createPrivateKey } from 'node:crypto';

/** Length of every needle. Twenty characters of a random secret are never there by chance, and a shortened secret is found as well. */
export const NEEDLE_CHARS = 20;

/**
 * What to look for so that a secret is found however it was written: as it is, in hex, in base64 of either alphabet and at
 * whatever offset, escaped for a URL or for JSON; and what it encodes, the same ways. Throws RangeError for one too short to tell.
 */
export function needlesOf(secret: string): string[] {
  if (secret.length < NEEDLE_CHARS)
    throw new RangeError(`a secret of ${secret.length} characters cannot be told from other text`);
  const written = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  for (const bytes of [Buffer.from(secret), ...decodings(secret)]) written.push(...encodings(bytes));
  return [...new Set(written.flatMap(pieces))];
}

/** The same for a private key in PEM: only what is private in it, since a certificate shows the rest. */
export function needlesOfKey(pem: string): string[] {
  const { d = '' } = createPrivateKey(pem).export({ format: 'jwk' });
  // A line end is within the private value, after the header that all P-256 keys share.
  const [first = '', second = ''] = pem.split('\n').slice(1);
  return [...new Set([...needlesOf(d), first.slice(-NEEDLE_CHARS), second.slice(0, NEEDLE_CHARS)])];
}

function decodings(text: string): Buffer[] {
  if (/^([0-9a-f]{2}){16,}$/i.test(text)) return [Buffer.from(text, 'hex')];
  return /^[A-Za-z0-9+/_-]{22,}={0,2}$/.test(text) ? [Buffer.from(text, 'base64url')] : [];
}

function encodings(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  return [hex, hex.toUpperCase(), ...base64, ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** What these bytes alone decide in the base64 of something longer, where so many bytes (modulo 3) stand before them. */
function base64At(bytes: Buffer, offset: number): string {
  const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
  return shifted.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
}

function pieces(text: string): string[] {
  const count = Math.floor(text.length / NEEDLE_CHARS);
  const whole = Array.from({ length: count }, (_, index) =>
    text.slice(index * NEEDLE_CHARS, (index + 1) * NEEDLE_CHARS),
  );
  return text.length < NEEDLE_CHARS ? [] : [...whole, text.slice(-NEEDLE_CHARS)];
}
