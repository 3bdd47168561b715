import { writeFile } from 'node:fs/promises';
import { systemClock } from '@fairlead/clock';
import { silentLogger } from '@fairlead/observability';
import { eventually, scratchDir, testAuthority, type TestCertificate } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { certificateFiles, type TlsMaterial } from '../index.js';

const options = { clock: systemClock, logger: silentLogger, pollMs: 5 };

it('takes changed files once they belong together', async () => {
  await using scratch = await scratchDir();
  const [certFile, keyFile] = [scratch.file('tls.crt'), scratch.file('tls.key')];
  const put = async (certificate: TestCertificate): Promise<void> => {
    await writeFile(certFile, certificate.chainPem);
    await writeFile(keyFile, certificate.privateKeyPem, { mode: 0o600 });
  };
  const authority = await testAuthority();
  const [first, second] = [await authority.serving(['a.example']), await authority.serving(['a.example'])];
  await put(first);
  let refused = 0;
  const logger = { ...silentLogger, warn: (event: string) => (refused += Number(event === 'tls.files_not_usable')) };
  await using source = await certificateFiles({ ...options, logger, certFile, keyFile });
  const seen: TlsMaterial[] = [];
  source.onChange((material) => void seen.push(material));
  await writeFile(certFile, second.chainPem);
  await eventually(() => expect(refused).toBeGreaterThan(2));
  expect(source.current.cert).toBe(first.chainPem);
  await put(second);
  await eventually(() => expect(source.current.cert).toBe(second.chainPem));
  expect(seen).toEqual([{ cert: second.chainPem, key: second.privateKeyPem }]);
});

it('does not start with files that cannot serve', async () => {
  await using scratch = await scratchDir();
  const authority = await testAuthority();
  const [one, other] = [await authority.serving(['a.example']), await authority.serving(['a.example'])];
  const [certFile, keyFile] = [scratch.file('tls.crt'), scratch.file('tls.key')];
  await writeFile(certFile, one.chainPem);
  await expect(certificateFiles({ ...options, certFile, keyFile })).rejects.toMatchObject({ code: 'ENOENT' });
  await writeFile(keyFile, other.privateKeyPem);
  await expect(certificateFiles({ ...options, certFile, keyFile })).rejects.toThrow(/does not belong/);
  await writeFile(keyFile, 'garbage');
  await expect(certificateFiles({ ...options, certFile, keyFile })).rejects.toThrow(/not readable PEM/);
});
