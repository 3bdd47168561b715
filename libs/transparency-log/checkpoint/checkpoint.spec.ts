import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { EMPTY_ROOT } from '../merkle/hashes.js';
import { noteSigner, parseVerifierKey, verifierKey } from '../note/keys.js';
import { formatCheckpoint, openCheckpoint, parseCheckpoint, signCheckpoint } from './checkpoint.js';

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
