import { expect, it } from 'vitest';
import { argocdManifest, fluxManifest } from '../testing/manifests.js';
import { BundleReader, READER_LIMITS } from './bundle-reader.js';

const HEAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n';
const numbers = (name: string): string => `${HEAD.replace('NAME', name)}data: [${'1,'.repeat(99_900)}1]\n`;
const keys = (name: string): string => {
  const lines = Array.from({ length: 49_900 }, (_, at) => `  key${at}: value`);
  return `${HEAD.replace('NAME', name)}data:\n${lines.join('\n')}\n`;
};
/** Nearly all that the bounds of a manifest let pass. */
const worst = Buffer.from([fluxManifest(), numbers('a'), keys('b'), numbers('c').slice(0, -20_000)].join('---\n'));
const bundle = Buffer.from(fluxManifest());

it('goes on with everything else meanwhile, and reads what the bounds let pass', async () => {
  const reader = new BundleReader({ ...READER_LIMITS, timeMs: 60_000 });
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 10);
  try {
    // Cut short, its last document is none.
    await expect(reader.read('a', 'flux', worst)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    const turnsThen = turns;
    // Of some 300, if nothing else is at work; read in this thread, there would be one for each of its seven documents.
    expect(turnsThen).toBeGreaterThan(15);
  } finally {
    clearInterval(counting);
  }
  expect(await reader.read('a', 'flux', bundle)).toMatchObject({ objects: 4 });
  expect(await reader.read('a', 'argocd', Buffer.from(argocdManifest()))).toMatchObject({ images: expect.any(Array) });
});

it.each([
  ['memory', { memoryMb: 32 }, '32 MB of memory'],
  ['time', { timeMs: 300 }, '0.3 s'],
])('refuses what takes too much %s, and lives', async (_what, limits, why) => {
  const reader = new BundleReader({ ...READER_LIMITS, timeMs: 60_000, ...limits });
  const refusal = { code: 'TOO_LARGE', message: expect.stringContaining(why) as string };
  for (let again = 0; again < 2; again += 1) {
    await expect(reader.read('a', 'flux', worst)).rejects.toMatchObject(refusal);
  }
});

it('reads one at a time: another tenant’s comes first, and who is too many is refused', async () => {
  const reader = new BundleReader({ ...READER_LIMITS, timeMs: 60_000, waitMs: 60_000, waiting: 3, waitingOfTenant: 2 });
  const order: string[] = [];
  const read = async (tenantId: string): Promise<void> => {
    await reader.read(tenantId, 'flux', bundle);
    order.push(tenantId);
  };
  const all = [read('a'), read('a'), read('a'), read('b')];
  await expect(read('c')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await Promise.all(all);
  expect(order.join('')).toBe('abaa');
  const of = [read('a'), read('a'), read('a')];
  await expect(read('a')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await Promise.all(of);
});

it('lets nobody wait for long', async () => {
  const impatient = new BundleReader({ ...READER_LIMITS, timeMs: 60_000, waitMs: 50 });
  const had = Promise.withResolvers<void>();
  const slow = impatient.inTurn('a', async (read) => {
    await had.promise;
    return read('flux', bundle);
  });
  await expect(impatient.read('b', 'flux', bundle)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  had.resolve();
  expect(await slow).toMatchObject({ objects: 4 });
  expect(await impatient.read('b', 'flux', bundle)).toMatchObject({ objects: 4 });
});
