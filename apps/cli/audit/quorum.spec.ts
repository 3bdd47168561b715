import { generateKeyPairSync } from 'node:crypto';
import {
  cosigner,
  noteSigner,
  openCheckpoint,
  parseVerifierKey,
  signCheckpoint,
  verifierKey,
} from '@fairlead/transparency-log';
import { LogInMemory, entries } from '@fairlead/transparency-log/testing';
import { expect, it } from 'vitest';
import type { ApiClient } from '../session/api-client.js';
import { cosignedOf, policyOf } from './quorum.js';

const ORIGIN = 'fairlead.test/audit/shop';
const key = generateKeyPairSync('ed25519').privateKey;
const logKey = verifierKey(ORIGIN, 'ed25519', key);
const witnesses = ['w1', 'w2', 'w3'].map((name) => {
  const own = generateKeyPairSync('ed25519').privateKey;
  return {
    signer: cosigner(name, own, () => new Date(1_700_000_000_000)),
    vkey: verifierKey(name, 'cosignature', own),
  };
});
const vkeys = witnesses.map(({ vkey }) => vkey);

async function noteOf(size: number, cosigned: number): Promise<string> {
  const { root } = new LogInMemory().append(entries(0, size));
  const signers = [noteSigner(ORIGIN, key), ...witnesses.slice(0, cosigned).map(({ signer }) => signer)];
  return (await signCheckpoint({ origin: ORIGIN, size, root }, signers)).toString('utf8');
}

interface Served {
  readonly checkpoints: readonly (readonly [size: number, cosigned: number])[];
  readonly refused?: number;
}

/** An API that answers one after the other, and the last one for good. */
function serving(...answers: Served[]): ApiClient & { readonly asked: number } {
  let asked = 0;
  const ask = async (schema: { safeParse(value: unknown): { data?: unknown } }): Promise<never> => {
    const { checkpoints, refused = 0 } = answers[Math.min(asked, answers.length - 1)]!;
    asked += 1;
    const held = checkpoints.map(async ([size, count]) => ({ size, checkpoint: await noteOf(size, count) }));
    const said = vkeys.map((vkey, at) => ({
      name: `w${at + 1}`,
      verifierKey: vkey,
      state: at < refused ? 'refused' : 'cosigned',
      why: at < refused ? 'a fork' : '',
      size: 0,
      cosignedAt: null,
      askedAt: null,
    }));
    return schema.safeParse({ witnesses: said, checkpoints: await Promise.all(held) }).data as never;
  };
  return {
    ask,
    get asked() {
      return asked;
    },
  } as unknown as ApiClient & { asked: number };
}

async function cosigned(api: ApiClient, size: number, waitMs = 0, needed = 2) {
  const policy = (await policyOf({ quorum: needed, witness: vkeys }))!;
  const head = openCheckpoint(Buffer.from(await noteOf(size, 0)), ORIGIN, [parseVerifierKey(logKey)]);
  return cosignedOf(api, { policy, head, verifierKey: logKey, waitMs });
}

it('enough witnesses cosigned at least what the log showed', async () => {
  const { newest, by, all } = await cosigned(
    serving({
      checkpoints: [
        [12, 1],
        [11, 2],
        [5, 3],
      ],
    }),
    10,
  );
  expect(newest?.size).toBe(11);
  expect(by).toEqual(['w1 at 2023-11-14T22:13:20.000Z', 'w2 at 2023-11-14T22:13:20.000Z']);
  expect(all.map(({ size }) => size)).toEqual([11, 5]);
});

it('too few did, or of less: nothing is cosigned, and it is told what they cosigned', async () => {
  const { newest, all, by } = await cosigned(
    serving({
      checkpoints: [
        [10, 1],
        [9, 2],
      ],
    }),
    10,
  );
  expect([newest, all.map(({ size }) => size)]).toEqual([undefined, [9]]);
  expect(by).toEqual(['w1: cosigned', 'w2: cosigned', 'w3: cosigned']);
});

it('they are waited for, but not where too many refuse', async () => {
  const api = serving({ checkpoints: [[9, 3]] }, { checkpoints: [[10, 2]] });
  expect((await cosigned(api, 10, 60_000)).newest?.size).toBe(10);
  const refused = serving({ checkpoints: [[9, 3]], refused: 2 });
  const { newest, by } = await cosigned(refused, 10, 60_000);
  expect([newest, refused.asked]).toEqual([undefined, 1]);
  expect(by[0]).toBe('w1: refused (a fork)');
});

it('a policy is a number of keys or a file, and asks for somebody', async () => {
  expect(await policyOf({})).toBeUndefined();
  await expect(policyOf({ quorum: 1 })).rejects.toThrow(/give --witness|nobody is named/);
  await expect(policyOf({ quorum: 4, witness: vkeys })).rejects.toThrow(/4 of 3/);
  await expect(policyOf({ quorum: 1, witness: vkeys, policy: 'file' })).rejects.toThrow(/--policy says which/);
});
