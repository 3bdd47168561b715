import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { cosignedAt, cosigner, noteSigner, parseVerifierKey, verifierKey } from './keys.js';
import { formatNote, openNote, parseNote, signNote } from './signed-note.js';

/** The example in the documentation of Go's sumdb/note. */
const GO = {
  privateKey: 'AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  verifierKey: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
  line: '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

/** RFC 8410: what is before the 32 bytes of an Ed25519 key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

function goPrivateKey(): KeyObject {
  const seed = Buffer.from(GO.privateKey, 'base64').subarray(1);
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;
const untrusted = expect.objectContaining({ code: 'UNTRUSTED_PEER' }) as Error;
const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

describe('a signed note', () => {
  it('is byte for byte the one of Go', async () => {
    const note = await signNote(GO.text, [noteSigner('PeterNeumann', goPrivateKey())]);
    expect(formatNote(note).toString()).toBe(`${GO.text}\n${GO.line}`);
    expect(verifierKey('PeterNeumann', 'ed25519', goPrivateKey())).toBe(GO.verifierKey);
  });

  it('is opened by a key that signed it, whoever else did', async () => {
    const other = newKey();
    const note = formatNote(
      await signNote(GO.text, [noteSigner('other', other), noteSigner('PeterNeumann', goPrivateKey())]),
    );
    const opened = openNote(note, [parseVerifierKey(GO.verifierKey)]);
    expect(opened).toMatchObject({ text: GO.text, verified: [{ verifier: { name: 'PeterNeumann' } }] });
    expect(opened.signatures).toHaveLength(2);
  });

  it('with another text, or of nobody that is known, is not opened', async () => {
    const known = parseVerifierKey(GO.verifierKey);
    const changed = Buffer.from(`${GO.text.replace('answer', 'problem')}\n${GO.line}`);
    expect(() => openNote(changed, [known])).toThrow(untrusted);
    const sameName = formatNote(await signNote(GO.text, [noteSigner('PeterNeumann', newKey())]));
    expect(() => openNote(sameName, [known])).toThrow(untrusted);
    expect(() => openNote(Buffer.from(`${GO.text}\n${GO.line}`), [])).toThrow(untrusted);
  });

  it('has text that may have empty lines', async () => {
    const note = await signNote('one\n\ntwo\n', [noteSigner('PeterNeumann', goPrivateKey())]);
    expect(parseNote(formatNote(note)).text).toBe('one\n\ntwo\n');
  });

  it.each([
    ['no signature', 'text\n'],
    ['nothing below the empty line', 'text\n\n'],
    ['no newline at its end', `text\n\n${GO.line.trimEnd()}`],
    ['another dash', `text\n\n${GO.line.replace('—', '-')}`],
    ['base64 that is not canonical', 'text\n\n— name AAAAAAB=\n'],
    ['a signature without a byte', 'text\n\n— name AAAAAA==\n'],
    ['a name with a plus', 'text\n\n— na+me AAAAAAA=\n'],
    ['a tab', `te\txt\n\n${GO.line}`],
    ['a carriage return', `text\r\n\n${GO.line}`],
    ['too many lines', `text\n\n${GO.line.repeat(101)}`],
    ['too many bytes', `${'x'.repeat(70_000)}\n\n${GO.line}`],
  ])('is none with %s', (_, text) => {
    expect(() => parseNote(Buffer.from(text))).toThrow(invalid);
  });

  it('is none when it is not UTF-8', () => {
    expect(() => parseNote(Buffer.concat([Buffer.from([0xff]), Buffer.from(`text\n\n${GO.line}`)]))).toThrow(invalid);
  });
});

describe('a verifier key', () => {
  it.each([
    ['an id of another key', GO.verifierKey.replace('c74f20a3', 'c74f20a4')],
    ['another name', GO.verifierKey.replace('Peter', 'Paul')],
    ['another type', GO.verifierKey.replace('+AR', '+BR')],
    ['a key that is cut off', GO.verifierKey.slice(0, -4)],
    ['no name', GO.verifierKey.slice('PeterNeumann'.length)],
  ])('is none with %s', (_, key) => {
    expect(() => parseVerifierKey(key)).toThrow(invalid);
  });

  it('has no name with spaces, and no key of another kind', () => {
    expect(() => noteSigner('a b', newKey())).toThrow(invalid);
    expect(() => verifierKey('a', 'ed25519', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)).toThrow(
      invalid,
    );
  });
});

describe('a cosignature', () => {
  it('says when, and is of text and time together', async () => {
    const key = newKey();
    const at = new Date('2026-03-04T05:06:07.900Z');
    const note = formatNote(await signNote(GO.text, [cosigner('witness.test/w1', key, () => at)]));
    const witness = parseVerifierKey(verifierKey('witness.test/w1', 'cosignature', key));
    const [line] = openNote(note, [witness]).verified;
    expect(cosignedAt(line!.signature)).toEqual(new Date('2026-03-04T05:06:07Z'));
    const later = Buffer.from(line!.signature);
    later.writeUInt8(later.readUInt8(7) + 1, 7);
    expect(witness.verify(GO.text, later)).toBe(false);
    expect(witness.verify(GO.text, line!.signature.subarray(8))).toBe(false);
  });
});
