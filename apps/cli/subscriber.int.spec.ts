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

describe('webhook', () => {
  const URL_WITH_SECRET = 'https://hooks.example.com/T0K3N?key=T0K3N';
  const secretOf = (out: string): string | undefined => /whsec_\S+/.exec(out)?.[0];
  const make = (name: string, ...more: string[]) =>
    fairlead(['subscriber', 'create', name, '--types', 'grant.*', '--webhook', URL_WITH_SECRET, ...more]);

  it('is made with a secret that is alone on standard output, or in a file for its owner only', async () => {
    const made = await make('hook-one');
    expect(made).toMatchObject({ status: 0 });
    expect(made.out).toBe(`${secretOf(made.out)}\n`);
    const file = scene.scratch.file('hook.secret');
    const written = await make('hook-two', '--out', file);
    expect(written).toMatchObject({ status: 0 });
    expect(secretOf(written.out + written.err)).toBeUndefined();
    expect(secretOf(await readFile(file, 'utf8'))).toBeDefined();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await make('hook-three', '--out', file)).err).toContain('exists');
    expect((await fairlead(['subscriber', 'list', '-o', 'name'])).out.split('\n')).not.toContain('hook-three');
    // A URL that is a secret is no argument.
    const piped = ['subscriber', 'create', 'hook-six', '--types', '*', '--webhook', '-'];
    expect(await fairlead(piped, { stdin: `${URL_WITH_SECRET}\n` })).toMatchObject({ status: 0 });
    expect((await fairlead(['subscriber', 'show', 'hook-six'])).out).toContain('https://hooks.example.com');
  });

  it('is shown without more of its URL than where it leads', async () => {
    await make('hook-four');
    for (const output of ['table', 'json']) {
      const shown = await fairlead(['subscriber', 'show', 'hook-four', '-o', output]);
      expect(shown.out).toContain('https://hooks.example.com');
      expect(shown.out).not.toContain('T0K3N');
      expect(secretOf(shown.out)).toBeUndefined();
    }
  });

  it('gets another secret, is enabled, and its dead letters are shown and delivered again', async () => {
    const made = await make('hook-five');
    const rotated = await fairlead(['subscriber', 'rotate', 'hook-five', '--overlap', '2h']);
    expect(secretOf(rotated.out)).toBeDefined();
    expect(secretOf(rotated.out)).not.toBe(secretOf(made.out));
    expect((await fairlead(['subscriber', 'rotate', 'hook-five', '--overlap', '90m'])).status).not.toBe(0);
    expect(await fairlead(['subscriber', 'enable', 'hook-five'])).toMatchObject({ status: 0 });
    expect((await fairlead(['subscriber', 'dead-letters', 'hook-five'])).out).toContain('it answered 503');
    const redelivered = await fairlead(['subscriber', 'redeliver', 'hook-five', '7', '-o', 'json']);
    expect(JSON.parse(redelivered.out)).toEqual({ count: 1 });
    expect((await fairlead(['subscriber', 'redeliver', 'hook-five', 'x'])).err).toContain('no number of an entry');
  });
});
