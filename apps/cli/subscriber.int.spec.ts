import { readFile, stat, writeFile } from 'node:fs/promises';
import { fromSeed } from '@nats-io/nkeys';
import { describe, expect, it } from 'vitest';
import { loggedIn } from './testing/logged-in.js';

const scene = loggedIn();
const { fairlead } = scene;

interface Shown {
  readonly name: string;
  readonly types: string[];
  readonly nats: { readonly publicKey: string; readonly consumer: string; readonly inboxPrefix: string };
}
const publicKeyOf = (seed: string): string => fromSeed(new TextEncoder().encode(seed)).getPublicKey();
const parsed = (out: string): Shown => JSON.parse(out) as Shown;
const seedFile = (name: string): string => scene.scratch.file(`${name}.nk`);
const create = (name: string, ...more: string[]) =>
  fairlead(['subscriber', 'create', name, '--types', 'grant.*,client.created', '--out', seedFile(name), ...more]);

describe('subscriber', () => {
  it('is made with a key that is written for its owner only and goes nowhere', async () => {
    const made = await create('first');
    expect(made).toMatchObject({ status: 0 });
    const seed = (await readFile(seedFile('first'), 'utf8')).trim();
    expect((await stat(seedFile('first'))).mode & 0o777).toBe(0o600);
    expect(made.out + made.err).not.toContain(seed);
    const shown = parsed((await fairlead(['subscriber', 'show', 'first', '-o', 'json'])).out);
    expect(shown).toMatchObject({ name: 'first', types: ['grant.*', 'client.created'] });
    expect(shown.nats.publicKey).toBe(publicKeyOf(seed));
    expect(made.out).toContain(shown.nats.consumer);
    expect(made.out).toContain(shown.nats.inboxPrefix);
  });

  it('does not overwrite a file, and makes nothing then', async () => {
    await writeFile(seedFile('second'), 'kept');
    const refused = await create('second');
    expect(refused.status).not.toBe(0);
    expect(refused.err).toContain('exists');
    expect(await readFile(seedFile('second'), 'utf8')).toBe('kept');
    expect((await fairlead(['subscriber', 'list', '-o', 'name'])).out.split('\n')).not.toContain('second');
    expect(await create('second', '--force')).toMatchObject({ status: 0 });
  });

  it('gets another key', async () => {
    await create('third');
    const before = await readFile(seedFile('third'), 'utf8');
    const rotated = await fairlead(['subscriber', 'rotate', 'third', '--out', seedFile('third'), '-o', 'json']);
    expect(rotated).toMatchObject({ status: 0 });
    const after = (await readFile(seedFile('third'), 'utf8')).trim();
    expect(after).not.toBe(before.trim());
    const { subscriber } = JSON.parse(rotated.out) as { subscriber: Shown };
    expect(subscriber.nats.publicKey).toBe(publicKeyOf(after));
  });

  it('is told again from a number, a moment or an age on', async () => {
    await create('fourth');
    for (const from of ['17', '2026-03-01T08:00:00Z', '2h']) {
      expect(await fairlead(['subscriber', 'replay', 'fourth', '--from', from])).toMatchObject({ status: 0 });
    }
    const refused = await fairlead(['subscriber', 'replay', 'fourth', '--from', 'yesterday']);
    expect(refused.status).not.toBe(0);
    expect(refused.err).toContain('yesterday is no time');
  });

  it('is removed', async () => {
    await create('fifth');
    expect(await fairlead(['subscriber', 'remove', 'fifth', '--yes'])).toMatchObject({ status: 0 });
    expect((await fairlead(['subscriber', 'show', 'fifth'])).err).toContain('there is no subscriber named fifth');
  });
});
