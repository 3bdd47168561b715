import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signCheckpoint } from '../checkpoint/checkpoint.js';
import { hashLeaf } from '../merkle/hashes.js';
import { cosigner, noteSigner, verifierKey } from '../note/keys.js';
import { countingPolicy, isFulfilledBy, parseWitnessPolicy, verifyPolicy } from './policy.js';

const newKey = () => generateKeyPairSync('ed25519').privateKey;
const keys = ['a', 'b', 'c', 'd'].map((name) => ({ name, key: newKey() }));
const vkeys = keys.map(({ name, key }) => verifierKey(name, 'cosignature', key));
const [a = '', b = '', c = '', d = ''] = vkeys;
const renamed = verifierKey('another', 'cosignature', keys[0]!.key);
const logKey = newKey();
const log = verifierKey('log.test', 'ed25519', logKey);
const checkpoint = { origin: 'log.test', size: 1, root: hashLeaf(Buffer.from('x')) };
const cosigned = (...by: number[]) =>
  signCheckpoint(checkpoint, [
    noteSigner('log.test', logKey),
    ...by.map((at) => cosigner(keys[at]!.name, keys[at]!.key, () => new Date(1_700_000_000_000))),
  ]);

describe('a policy', () => {
  const text = `# of two organisations\n\nlog ${log}\nwitness A ${a} https://a.test/prefix\n\twitness B ${b}\nwitness C ${c}
group X 2 A B C\nwitness D ${d}\ngroup both all X D\nquorum both\n`;

  it('is read, and holds where each group has enough', () => {
    const policy = parseWitnessPolicy(text);
    expect(policy.logs.map(({ name }) => name)).toEqual(['log.test']);
    expect(policy.witnesses.map(({ name, url }) => [name, url?.href])).toEqual([
      ['A', 'https://a.test/prefix'],
      ['B', undefined],
      ['C', undefined],
      ['D', undefined],
    ]);
    expect(isFulfilledBy(policy, new Set(['A', 'C', 'D']))).toBe(true);
    expect(isFulfilledBy(policy, new Set(['A', 'B', 'C']))).toBe(false);
    expect(isFulfilledBy(policy, new Set(['A', 'D']))).toBe(false);
  });

  it('is held to the cosignatures themselves', async () => {
    const policy = parseWitnessPolicy(text);
    const at = new Date(1_700_000_000_000);
    expect(verifyPolicy(await cosigned(0, 1, 3), policy)).toEqual({
      reached: true,
      cosigned: ['A', 'B', 'D'].map((name) => ({ name, at })),
      missing: ['C'],
      forged: [],
    });
    expect(verifyPolicy(await cosigned(0, 3), policy).reached).toBe(false);
    const other = await signCheckpoint({ ...checkpoint, size: 2 }, [noteSigner('log.test', logKey)]);
    const lines = (await cosigned(0, 1, 3)).toString().split('\n').slice(5).join('\n');
    expect(verifyPolicy(Buffer.from(other.toString() + lines), policy)).toMatchObject({
      reached: false,
      forged: ['A', 'B', 'D'],
    });
  });

  it('counts, where there is only a number', async () => {
    const note = await cosigned(1, 2);
    expect(verifyPolicy(note, countingPolicy(vkeys, 2)).reached).toBe(true);
    expect(verifyPolicy(note, countingPolicy(vkeys, 3)).reached).toBe(false);
  });

  it('counts a witness once, however many lines it signed', async () => {
    const note = await cosigned(0, 0);
    expect(verifyPolicy(note, countingPolicy(vkeys, 1)).reached).toBe(true);
    expect(verifyPolicy(note, countingPolicy(vkeys, 2)).reached).toBe(false);
  });

  it.each([
    ['no quorum', `witness A ${a}`],
    ['two', `witness A ${a}\nquorum A\nquorum A`],
    ['one of nobody that is known', `quorum A\nwitness A ${a}`],
    ['a key twice', `witness A ${a}\nwitness B ${a}\nquorum A`],
    ['a key twice, under two names', `witness A ${a}\nwitness B ${renamed}\nquorum A`],
    ['a key of a log for a witness', `witness A ${log}\nquorum A`],
    ['a name twice', `witness A ${a}\nwitness A ${b}\nquorum A`],
    ['none for a name', `witness none ${a}\nquorum none`],
    ['a member of two groups', `witness A ${a}\ngroup X any A\ngroup Y any A\nquorum Y`],
    ['more than there are', `witness A ${a}\ngroup X 2 A\nquorum X`],
    ['a URL that is none', `witness A ${a} a.test\nquorum A`],
    ['another line', `witnesses A\nquorum none`],
    ['a control character', `quorum none\r\n`],
  ])('is none with %s', (_, broken) => {
    expect(() => parseWitnessPolicy(broken)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error);
  });

  it('cannot ask for more witnesses than there are, nor for none', () => {
    for (const needed of [0, 5]) expect(() => countingPolicy(vkeys, needed)).toThrow(/cannot be asked for/);
    expect(() => countingPolicy([a, a], 1)).toThrow(/another line/);
  });
});
