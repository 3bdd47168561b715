import { X509Certificate } from 'node:crypto';
import { checkCsr, createCsr, createRoot, generatePrivateKey, issueServing, type Authority } from '@fairlead/pki';

const DAY_MS = 86_400_000;
const CA_LIFE_MS = 3_650 * DAY_MS;
const SERVER_LIFE_MS = 365 * DAY_MS;
/** Clocks differ. */
const BACKDATED_MS = 300_000;

/**
 * The small CA of an installation for nats-server and Postgres, valid for ten years. It is none of the CAs of `keys`, which cannot run
 * before these two do.
 */
export function createInfrastructureAuthority(now: Date): Promise<Authority> {
  return createRoot({ commonName: 'Fairlead infrastructure CA', ...lifeFrom(now, CA_LIFE_MS) });
}

/** A key and a certificate for DNS names and addresses, valid for a year, or as long as its CA. */
export async function issueServerCertificate(
  authority: Authority,
  names: readonly string[],
  now: Date,
  valid: 'a year' | 'as long as its CA' = 'a year',
): Promise<{ readonly certificatePem: string; readonly privateKeyPem: string }> {
  const privateKeyPem = await generatePrivateKey();
  const csr = await checkCsr(await createCsr(privateKeyPem));
  const ofAYear = lifeFrom(now, SERVER_LIFE_MS);
  const notAfter = valid === 'a year' ? ofAYear.notAfter : new X509Certificate(authority.certificatePem).validToDate;
  const { certificatePem } = await issueServing(authority, { csr, names, ...ofAYear, notAfter });
  return { certificatePem, privateKeyPem };
}

function lifeFrom(now: Date, lifeMs: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now.getTime() - BACKDATED_MS), notAfter: new Date(now.getTime() + lifeMs) };
}
