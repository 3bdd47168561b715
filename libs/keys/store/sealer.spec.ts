import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sealBytes } from '../domain/sealing.js';
import { envelopeSealer, localEncryption, type KeyEncryption } from './sealer.js';

const masterKey = randomBytes(32);
const localSealer = (key: Buffer) => envelopeSealer(localEncryption(key));

it('opens what it sealed, with the same master key, context and bytes only', async () => {
  const sealer = localSealer(masterKey);
  const sealed = await sealer.seal('secret', 'a:root');
  await expect(sealer.unseal(sealed, 'a:root')).resolves.toBe('secret');
  await expect(localSealer(randomBytes(32)).unseal(sealed, 'a:root')).rejects.toThrow(/another master key/);
  await expect(sealer.unseal(sealed, 'b:root')).rejects.toThrow(/another master key/);
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await expect(sealer.unseal(changed, 'a:root'), `byte ${at}`).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  for (const short of [0, 1, 2, 3, 40]) {
    await expect(sealer.unseal(sealed.subarray(0, short), 'a:root')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  }
});

it('opens what was sealed before keys had names, by the master key directly or by a data key', async () => {
  const direct = sealBytes(masterKey, Buffer.from('secret'), 'a:root');
  const dataKey = randomBytes(32);
  const wrapped = sealBytes(masterKey, dataKey, 'a:root');
  const unnamed = Buffer.concat([
    Buffer.of(2, 0, wrapped.length),
    wrapped,
    sealBytes(dataKey, Buffer.from('secret'), 'a:root'),
  ]);
  const after = envelopeSealer(localEncryption(randomBytes(32)), [localEncryption(masterKey)]);
  for (const sealed of [direct, unnamed]) {
    await expect(localSealer(masterKey).unseal(sealed, 'a:root')).resolves.toBe('secret');
    await expect(after.unseal(sealed, 'a:root')).resolves.toBe('secret');
    await expect(localSealer(randomBytes(32)).unseal(sealed, 'a:root')).rejects.toThrow(/another master key/);
  }
});

it('seals with one key, and opens what the others sealed; a key that is not there is named', async () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const old = await localSealer(first).seal('secret', 'a');
  const both = envelopeSealer(localEncryption(second), [localEncryption(first)]);
  await expect(both.unseal(old, 'a')).resolves.toBe('secret');
  const fresh = await both.seal('secret', 'a');
  await expect(localSealer(second).unseal(fresh, 'a')).resolves.toBe('secret');
  await expect(localSealer(first).unseal(fresh, 'a')).rejects.toThrow(await both.current());
});

it('gives each secret a key of its own, and shows only such keys to whoever encrypts them', async () => {
  const seen: { dataKey: Uint8Array; context: string }[] = [];
  const kms: KeyEncryption = {
    current: async () => 'kms:1',
    wrap: async (dataKey, context) => {
      seen.push({ dataKey, context });
      return { keyName: 'kms:1', bytes: Buffer.from([seen.length - 1]) };
    },
    opens: (keyName) => keyName === 'kms:1',
    unwrap: async ({ bytes: [index = 0] }) => seen[index]?.dataKey ?? Buffer.alloc(32),
  };
  const sealer = envelopeSealer(kms);
  const [one, two] = [await sealer.seal('first', 'a'), await sealer.seal('second', 'b')];
  expect([await sealer.unseal(two, 'b'), await sealer.unseal(one, 'a')]).toEqual(['second', 'first']);
  expect(seen.map(({ dataKey, context }) => `${dataKey.length} ${context}`)).toEqual(['32 a', '32 b']);
  expect(seen[0]?.dataKey).not.toEqual(seen[1]?.dataKey);
});
