import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { splitPem } from '@fairlead/pki';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openStateDir, type StateDir } from '../state/state-dir.js';
import { LOCAL_NAMES, prepareInfrastructureTls, trustOf } from './infrastructure-tls.js';

const DAY_MS = 86_400_000;
const START = new Date('2026-01-01T00:00:00Z');
const after = (days: number): Date => new Date(START.getTime() + days * DAY_MS);

let scratch: ScratchDir;
let state: StateDir;
beforeEach(async () => {
  scratch = await scratchDir();
  state = openStateDir(scratch.file('state'));
});
afterEach(async () => {
  state[Symbol.dispose]();
  await scratch[Symbol.asyncDispose]();
});

const read = (path: string): X509Certificate => new X509Certificate(readFileSync(path));

it('gives each server a certificate of one CA for a year, with keys that only the owner reads', async () => {
  const { nats, postgres } = await prepareInfrastructureTls(state, undefined, START);
  expect(nats.caFile).toBe(postgres.caFile);
  const ca = read(nats.caFile);
  for (const { certFile, keyFile } of [nats, postgres]) {
    const certificate = read(certFile);
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.subjectAltName).toBe('IP Address:127.0.0.1, DNS:localhost');
    expect(certificate.validToDate).toEqual(after(365));
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  }
  expect(readFileSync(nats.keyFile, 'utf8')).not.toBe(readFileSync(postgres.keyFile, 'utf8'));
  expect(statSync(state.file('secrets', 'infrastructure-ca.key')).mode & 0o777).toBe(0o600);
});

it('keeps what is good for more than a third of its life, and renews it then', async () => {
  const { nats, postgres } = await prepareInfrastructureTls(state, undefined, START);
  const [ca, first] = [readFileSync(nats.caFile, 'utf8'), readFileSync(nats.certFile, 'utf8')];
  await prepareInfrastructureTls(state, undefined, after(240));
  expect(readFileSync(nats.certFile, 'utf8')).toBe(first);
  await prepareInfrastructureTls(state, undefined, after(250));
  expect(read(nats.certFile).validToDate).toEqual(after(250 + 365));
  expect(read(postgres.certFile).validToDate).toEqual(after(250 + 365));
  expect(readFileSync(nats.caFile, 'utf8')).toBe(ca);
});

it('makes a certificate anew for other names, and for a key that is not its own', async () => {
  const { nats, postgres } = await prepareInfrastructureTls(state, undefined, START);
  const others = { nats: ['nats.fairlead.svc', '127.0.0.1'], postgres: LOCAL_NAMES };
  const before = readFileSync(postgres.certFile, 'utf8');
  await prepareInfrastructureTls(state, others, START);
  expect(read(nats.certFile).subjectAltName).toBe('DNS:nats.fairlead.svc, IP Address:127.0.0.1');
  expect(readFileSync(postgres.certFile, 'utf8')).toBe(before);
  writeFileSync(postgres.keyFile, readFileSync(nats.keyFile));
  await prepareInfrastructureTls(state, others, START);
  expect(readFileSync(postgres.certFile, 'utf8')).not.toBe(before);
});

it('goes on trusting a CA that it replaces until that ends', async () => {
  const { nats } = await prepareInfrastructureTls(state, undefined, START);
  const old = readFileSync(nats.caFile, 'utf8');
  await prepareInfrastructureTls(state, undefined, after(2_500));
  const bundle = splitPem(readFileSync(nats.caFile, 'utf8'));
  expect(bundle).toHaveLength(2);
  expect(bundle[1]).toBe(splitPem(old)[0]);
  expect(read(nats.certFile).verify(new X509Certificate(bundle[0] ?? '').publicKey)).toBe(true);
  await prepareInfrastructureTls(state, undefined, after(5_500));
  expect(splitPem(readFileSync(nats.caFile, 'utf8'))).toHaveLength(2);
});

it('trusts it for servers whose address says TLS', () => {
  const trusted = { caFile: state.file('infrastructure-ca.crt') };
  expect(trustOf(state, 'tls://127.0.0.1:4222')).toEqual(trusted);
  expect(trustOf(state, 'postgres://x:y@127.0.0.1/z?sslmode=verify-full')).toEqual(trusted);
  expect(trustOf(state, 'nats://127.0.0.1:4222')).toEqual({});
  expect(trustOf(state, 'postgres://x:y@127.0.0.1/z')).toEqual({});
});
