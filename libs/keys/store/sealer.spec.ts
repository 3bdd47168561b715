import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { sealBytes } from '../domain/sealing.js';
import { envelopeSealer, localSealer } from './sealer.js';

const masterKey = randomBytes(32);

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

it('opens what the master key sealed directly', async () => {
  const sealed = sealBytes(masterKey, Buffer.from('secret'), 'a:root');
  await expect(localSealer(masterKey).unseal(sealed, 'a:root')).resolves.toBe('secret');
});

it('gives each secret a key of its own, and shows only such keys to whoever encrypts them', async () => {
  const seen: { dataKey: Uint8Array; context: string }[] = [];
  const sealer = envelopeSealer({
    wrap: async (dataKey, context) => {
      seen.push({ dataKey, context });
      return Buffer.from([seen.length - 1]);
    },
    unwrap: async ([index = 0]) => seen[index]?.dataKey ?? Buffer.alloc(32),
  });
  const [one, two] = [await sealer.seal('first', 'a'), await sealer.seal('second', 'b')];
  expect([await sealer.unseal(two, 'b'), await sealer.unseal(one, 'a')]).toEqual(['second', 'first']);
  expect(seen.map(({ dataKey, context }) => `${dataKey.length} ${context}`)).toEqual(['32 a', '32 b']);
  expect(seen[0]?.dataKey).not.toEqual(seen[1]?.dataKey);
});
