import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  Secret,
  commaList,
  dnsDomain,
  hostPort,
  loadConfig,
  networkList,
  port,
  printable,
  secretFile,
} from './index.js';
import { isPrivate, shownMode } from './load-config.js';

const schema = z.object({
  PORT: port,
  PEER: hostPort,
  ENDPOINTS: commaList.default([]),
  KEY_FILE: secretFile.optional(),
});

describe('loadConfig', () => {
  it('reads what the schema names and ignores the rest', () => {
    const config = loadConfig(schema, { PORT: '8080', PEER: '[::1]:1', ENDPOINTS: ' a:1, b:2,', HOME: '/root' });
    expect(config).toEqual({ PORT: 8080, PEER: '[::1]:1', ENDPOINTS: ['a:1', 'b:2'] });
  });

  it('lists every problem at once, and tells absent from wrong', () => {
    const load = (): unknown => loadConfig(schema, { PORT: '70000', KEY_FILE: '/no/such/file' });
    expect(load).toThrow(/PORT: Too big.*\n.*PEER: is not set.*\n.*KEY_FILE: cannot read the file/);
  });

  it('reads addresses and blocks of them, and nothing that is none or stands for everybody', () => {
    const networks = z.object({ FROM: networkList.default([]) });
    expect(loadConfig(networks, {})).toEqual({ FROM: [] });
    const good = ['10.0.0.5', '10.1.0.0/24', '10.0.0.5/32', 'fd00::1', 'fd00::/8'];
    expect(loadConfig(networks, { FROM: good.join(', ') })).toEqual({ FROM: good });
    for (const text of [
      'balancer',
      '10.0.0.0/0',
      '::/0',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/8/8',
      '10.0.0.0/',
      '10.0.0.0/08',
    ]) {
      expect(() => loadConfig(networks, { FROM: text })).toThrow('FROM.0: expected addresses');
    }
  });

  it('reads a domain however it is written, and nothing that is none', () => {
    const domain = z.object({ DOMAIN: dnsDomain });
    for (const text of ['k.example', '.K.Example', 'k.example.']) {
      expect(loadConfig(domain, { DOMAIN: text })).toEqual({ DOMAIN: 'k.example' });
    }
    for (const text of [
      'example',
      '*.k.example',
      'k..example',
      '-k.example',
      'k.example:7443',
      `${'a.'.repeat(130)}b`,
    ]) {
      expect(() => loadConfig(domain, { DOMAIN: text })).toThrow('DOMAIN: ');
    }
  });

  it('names the element of a list that is wrong', () => {
    const list = z.object({ ENDPOINTS: commaList.pipe(z.array(hostPort)) });
    expect(() => loadConfig(list, { ENDPOINTS: 'a:1,nonsense' })).toThrow('ENDPOINTS.1: expected host:port');
  });

  it('takes an empty variable for an absent one', () => {
    expect(() => loadConfig(schema, { PORT: '', PEER: 'a:1' })).toThrow('PORT: is not set');
  });

  it('can print whatever a schema makes of a variable', () => {
    const config = { RULES: [{ first: 2n ** 64n, ports: { from: 1, to: 2 } }], NONE: undefined };
    expect(printable(config)).toEqual({ RULES: [{ first: '18446744073709551616', ports: { from: 1, to: 2 } }] });
  });

  it('takes no secret from a file that others can read', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'key');
    writeFileSync(file, 'hunter2\n', { mode: 0o600 });
    const load = (): unknown => loadConfig(schema, { PORT: '1', PEER: 'a:1', KEY_FILE: file });
    for (const mode of [0o644, 0o604, 0o620]) {
      chmodSync(file, mode);
      expect(load).toThrow(`KEY_FILE: others can read the file (mode ${mode.toString(8)}): run chmod 600 on it`);
    }
    chmodSync(file, 0o400);
    expect(load).not.toThrow();
  });

  it('never prints a secret', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'key');
    writeFileSync(file, 'hunter2\n', { mode: 0o600 });
    const config = loadConfig(schema, { PORT: '1', PEER: 'a:1', KEY_FILE: file });
    expect(config.KEY_FILE?.reveal()).toBe('hunter2');
    expect(JSON.stringify(printable(config)) + inspect(config) + String(config.KEY_FILE)).not.toContain('hunter2');
    expect(new Secret('x').toJSON()).toBe('[secret]');
  });
});

it('is private if only its owner has access; to a group of root, it may be readable', () => {
  for (const mode of [0o600, 0o400, 0o700]) expect(isPrivate({ mode: 0o100_000 | mode, uid: 1_000 })).toBe(true);
  for (const mode of [0o640, 0o440]) {
    expect([isPrivate({ mode, uid: 0 }), isPrivate({ mode, uid: 65_532 })]).toEqual([true, false]);
  }
  for (const mode of [0o604, 0o602, 0o601, 0o644, 0o620, 0o610, 0o660]) expect(isPrivate({ mode, uid: 0 })).toBe(false);
  expect(shownMode({ mode: 0o100_644, uid: 0 })).toBe('644');
});
