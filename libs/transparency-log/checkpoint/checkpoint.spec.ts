import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EMPTY_ROOT } from '../merkle/hashes.js';
import { cosigner, noteSigner, parseVerifierKey, verifierKey, type NoteVerifier } from '../note/keys.js';
import { formatNote, parseNote, signNote } from '../note/signed-note.js';
import { formatCheckpoint, openCheckpoint, parseCheckpoint, signCheckpoint } from './checkpoint.js';
import { verifyQuorum } from './quorum.js';

/** The example of tlog-checkpoint. */
const EXAMPLE = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const ORIGIN = 'fairlead.test/tenants/acme';

const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;
const log = generateKeyPairSync('ed25519').privateKey;
const logKey = parseVerifierKey(verifierKey(ORIGIN, 'ed25519', log));
const checkpoint = { origin: ORIGIN, size: 7, root: Buffer.alloc(32, 7) };

describe('a checkpoint', () => {
  it('is read and written as the format says', () => {
    const read = parseCheckpoint(EXAMPLE);
    expect(read).toMatchObject({ origin: 'example.com/behind-the-sofa', size: 20_852_163, extensions: [] });
    expect(formatCheckpoint(read)).toBe(EXAMPLE);
    expect(parseCheckpoint(`${EXAMPLE}more\n`).extensions).toEqual(['more']);
  });

  it.each([
    ['a leading zero', EXAMPLE.replace('20852163', '020852163')],
    ['a negative size', EXAMPLE.replace('20852163', '-1')],
    ['a size that cannot be computed with', EXAMPLE.replace('20852163', '9007199254740993')],
    ['a size of nothing, and a root of something', EXAMPLE.replace('20852163', '0')],
    ['a short root', EXAMPLE.replace('CsUY', '')],
    ['a root in another spelling', EXAMPLE.replace('q2I=', 'q2J=')],
    ['no origin', EXAMPLE.replace('example.com/behind-the-sofa', '')],
    ['an empty line', `${EXAMPLE}\n`],
    ['no newline', EXAMPLE.trimEnd()],
  ])('is none with %s', (_, text) => {
    expect(() => parseCheckpoint(text)).toThrow(invalid);
  });

  it('is opened by the key of its log, under its origin', async () => {
    const note = await signCheckpoint(checkpoint, [noteSigner(ORIGIN, log)]);
    expect(openCheckpoint(note, ORIGIN, [logKey])).toMatchObject(checkpoint);
    expect(() => openCheckpoint(note, 'fairlead.test/tenants/other', [logKey])).toThrow(
      expect.objectContaining({ code: 'CONFLICT' }) as Error,
    );
    expect(
      openCheckpoint(
        await signCheckpoint({ ...checkpoint, size: 0, root: EMPTY_ROOT }, [noteSigner(ORIGIN, log)]),
        ORIGIN,
        [logKey],
      ).size,
    ).toBe(0);
  });

  it('is not written with an origin of two lines, or a root that is none', () => {
    expect(() => formatCheckpoint({ ...checkpoint, origin: 'a\nb' })).toThrow(invalid);
    expect(() => formatCheckpoint({ ...checkpoint, root: Buffer.alloc(31) })).toThrow(invalid);
  });
});

describe('a quorum', () => {
  const keys = [1, 2, 3].map((nth) => ({
    name: `witness.test/w${nth}`,
    key: generateKeyPairSync('ed25519').privateKey,
  }));
  const witnesses: NoteVerifier[] = keys.map(({ name, key }) =>
    parseVerifierKey(verifierKey(name, 'cosignature', key)),
  );
  const at = new Date('2026-03-04T05:06:07Z');
  const cosigned = (count: number) =>
    signCheckpoint(checkpoint, [
      noteSigner(ORIGIN, log),
      ...keys.slice(0, count).map(({ name, key }) => cosigner(name, key, () => at)),
    ]);

  it('is reached when enough witnesses cosigned, and says who did not', async () => {
    const note = await cosigned(2);
    expect(verifyQuorum(note, witnesses, 2)).toEqual({
      reached: true,
      cosigned: [
        { name: 'witness.test/w1', at },
        { name: 'witness.test/w2', at },
      ],
      missing: ['witness.test/w3'],
      forged: [],
    });
    expect(verifyQuorum(note, witnesses, 3).reached).toBe(false);
  });

  it('counts no line that a witness did not sign for this checkpoint', async () => {
    const other = parseNote(
      await signCheckpoint({ ...checkpoint, size: 8 }, [cosigner(keys[2]!.name, keys[2]!.key, () => at)]),
    );
    const { text, signatures } = parseNote(await cosigned(2));
    const note = formatNote({ text, signatures: [...signatures, ...other.signatures] });
    expect(verifyQuorum(note, witnesses, 3)).toMatchObject({ reached: false, forged: ['witness.test/w3'] });
  });

  it('does not count the log itself, nor a witness twice', async () => {
    const twice = formatNote(
      await signNote(
        formatCheckpoint(checkpoint),
        [1, 2].map(() => cosigner(keys[0]!.name, keys[0]!.key, () => at)),
      ),
    );
    expect(verifyQuorum(twice, witnesses, 2).reached).toBe(false);
    const renamed = parseVerifierKey(verifierKey('witness.test/w9', 'cosignature', keys[0]!.key));
    const note = await cosigned(2);
    expect(() => verifyQuorum(note, [...witnesses, renamed], 2)).toThrow(invalid);
    expect(() => verifyQuorum(note, [logKey], 1)).toThrow(invalid);
  });

  it('cannot be one of nobody, nor of more than there are', async () => {
    const note = await cosigned(1);
    expect(() => verifyQuorum(note, witnesses, 0)).toThrow(invalid);
    expect(() => verifyQuorum(note, witnesses, 4)).toThrow(invalid);
  });
});
