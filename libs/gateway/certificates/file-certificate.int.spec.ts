import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@fairlead/clock';
import type { LogFields, Logger } from '@fairlead/observability';
import { silentLogger } from '@fairlead/observability';
import {
  scratchDir,
  testAuthority,
  type ScratchDir,
  type TestAuthority,
  type TestCertificate,
} from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { FileCertificate, type CertificateFiles } from './file-certificate.js';

let scratch: ScratchDir;
let files: CertificateFiles;
let authority: TestAuthority;
let complaints: string[];
let used: string[];
let certificate: FileCertificate;
let endPause: () => void;
let paused: PromiseWithResolvers<void>;

const logger: Logger = {
  ...silentLogger,
  with: () => logger,
  error: (event: string, fields?: LogFields) => void complaints.push(`${event}: ${String(fields?.['reason'])}`),
};

/** Sleeps until the test looks on. */
const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: () =>
    new Promise((resolve) => {
      endPause = resolve;
      paused.resolve();
    }),
};

beforeAll(async () => {
  [scratch, authority] = await Promise.all([scratchDir(), testAuthority()]);
  files = { certFile: join(scratch.path, 'tls.crt'), keyFile: join(scratch.path, 'tls.key') };
});
afterAll(() => scratch?.[Symbol.asyncDispose]());

const write = ({ chainPem, privateKeyPem }: Pick<TestCertificate, 'chainPem' | 'privateKeyPem'>): Promise<unknown> =>
  Promise.all([writeFile(files.certFile, chainPem), writeFile(files.keyFile, privateKeyPem)]);
const issue = (notAfter?: Date): Promise<TestCertificate> =>
  authority.serving(['door'], { notBefore: new Date(0), ...(notAfter ? { notAfter } : {}) });

/** Has the files looked at once more. */
async function lookAgain(): Promise<void> {
  paused = Promise.withResolvers();
  endPause();
  await paused.promise;
}

beforeEach(async () => {
  [complaints, used, paused] = [[], [], Promise.withResolvers()];
  await write(await issue());
  certificate = new FileCertificate(files, logger, clock);
  await certificate.start(new AbortController().signal);
  certificate.onChange(({ keyPem }) => used.push(keyPem));
  await paused.promise;
});

it('is read again when its files change', async () => {
  await lookAgain();
  const next = await issue();
  await write(next);
  await lookAgain();
  expect(used).toHaveLength(2);
  expect(certificate.current).toMatchObject({ keyPem: next.privateKeyPem });
  expect(certificate.current?.chainPem).toHaveLength(3);
  expect(complaints).toEqual([]);
});

it('half written is not used, and not complained of before it stays so', async () => {
  const next = await issue();
  await writeFile(files.certFile, next.chainPem);
  await lookAgain();
  expect([used.length, complaints]).toEqual([1, []]);
  await write(next);
  await lookAgain();
  expect([used.length, complaints]).toEqual([2, []]);
});

it.each<[string, string, () => Promise<Pick<TestCertificate, 'chainPem' | 'privateKeyPem'>>]>([
  ['is no certificate', 'no certificate', () => Promise.resolve({ chainPem: 'nonsense', privateKeyPem: '' })],
  ['has no key', 'not readable', async () => ({ ...(await issue()), privateKeyPem: 'nonsense' })],
  [
    'has the key of another',
    'another',
    async () => ({ ...(await issue()), privateKeyPem: (await issue()).privateKeyPem }),
  ],
  ['has ended', 'ended', () => issue(new Date(Date.now() - 1_000))],
])('that %s keeps the last good one, and is complained of once', async (_, why, make) => {
  const before = certificate.current;
  await write(await make());
  for (let i = 0; i < 4; i += 1) await lookAgain();
  expect(certificate.current).toBe(before);
  expect(complaints).toEqual([expect.stringMatching(new RegExp(`^certificate.file.refused: .*${why}`))]);
  expect(complaints[0]).not.toContain('PRIVATE');
  const next = await issue();
  await write(next);
  await lookAgain();
  expect(certificate.current).toMatchObject({ keyPem: next.privateKeyPem });
});

it('that cannot be used at first is refused', async () => {
  await write({ chainPem: 'nonsense', privateKeyPem: '' });
  const bad = new FileCertificate(files, logger, clock);
  await expect(bad.start(new AbortController().signal)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const gone = new FileCertificate({ ...files, keyFile: `${files.keyFile}.gone` }, logger, clock);
  await expect(gone.start(new AbortController().signal)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
