import { X509Certificate, createPrivateKey } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { splitPem, type Authority } from '@fairlead/pki';
import { createInfrastructureAuthority, issueServerCertificate } from '@fairlead/setup';
import type { ServerTls } from '@fairlead/testbed';
import { putSecret } from '../state/secret-file.js';
import type { StateDir } from '../state/state-dir.js';

export const LOCAL_NAMES: readonly string[] = ['127.0.0.1', 'localhost'];

/** DNS names and addresses that the processes reach a server by. */
interface ServerNames {
  readonly nats: readonly string[];
  readonly postgres: readonly string[];
}

interface InfrastructureTls {
  readonly nats: ServerTls;
  readonly postgres: ServerTls;
}

/**
 * The small CA of this installation for nats-server and Postgres, and a certificate of each. It is none of the CAs of
 * `keys`, which cannot run before these two do. May be repeated: what has more than a third of its life left, and the
 * names asked for, stays; a CA that is replaced stays trusted until it ends.
 */
export async function prepareInfrastructureTls(
  state: StateDir,
  names: ServerNames = { nats: LOCAL_NAMES, postgres: LOCAL_NAMES },
  now: Date = new Date(),
): Promise<InfrastructureTls> {
  const caFile = infrastructureCaFile(state);
  const authority = await prepareAuthority(caFile, state.file('secrets', 'infrastructure-ca.key'), now);
  const prepare = async (server: 'nats' | 'postgres'): Promise<ServerTls> => {
    const certFile = state.file('secrets', `${server}-server.crt`);
    const keyFile = state.file('secrets', `${server}-server.key`);
    await prepareServer(authority, { certFile, keyFile, names: names[server] }, now);
    return { caFile, certFile, keyFile };
  };
  return { nats: await prepare('nats'), postgres: await prepare('postgres') };
}

/** What every process that speaks to NATS or Postgres trusts. */
function infrastructureCaFile(state: StateDir): string {
  return state.file('infrastructure-ca.crt');
}

/**
 * The CA for a server at this address. One of the user's own (NATS_URL, DATABASE_URL) speaks TLS if its address says so,
 * with `tls://` or `sslmode=verify-full`.
 */
export function trustOf(state: StateDir, url: string): { readonly caFile?: string } {
  const { protocol, searchParams } = new URL(url);
  const secured = protocol === 'tls:' || searchParams.get('sslmode') === 'verify-full';
  return secured ? { caFile: infrastructureCaFile(state) } : {};
}

async function prepareAuthority(caFile: string, keyFile: string, now: Date): Promise<Authority> {
  const known = existsSync(caFile) ? splitPem(readFileSync(caFile, 'utf8')) : [];
  const [current] = known;
  if (current !== undefined && isFresh(new X509Certificate(current), keyFile, now)) {
    return { certificatePem: current, privateKeyPem: readFileSync(keyFile, 'utf8') };
  }
  const authority = await createInfrastructureAuthority(now);
  const older = known.filter((pem) => new X509Certificate(pem).validToDate > now);
  // The key first: without its certificate it is not used, and both are made anew.
  putSecret(keyFile, authority.privateKeyPem.trim());
  putSecret(caFile, [authority.certificatePem, ...older].join('').trim());
  return authority;
}

interface Wanted {
  readonly certFile: string;
  readonly keyFile: string;
  readonly names: readonly string[];
}

async function prepareServer(authority: Authority, { certFile, keyFile, names }: Wanted, now: Date): Promise<void> {
  if (existsSync(certFile)) {
    const present = new X509Certificate(readFileSync(certFile));
    const issuer = new X509Certificate(authority.certificatePem);
    const ours = present.checkIssued(issuer) && present.verify(issuer.publicKey);
    if (ours && isFresh(present, keyFile, now) && isFor(present, names)) return;
  }
  const issued = await issueServerCertificate(authority, names, now);
  putSecret(keyFile, issued.privateKeyPem.trim());
  putSecret(certFile, issued.certificatePem.trim());
}

/** Whether it belongs to the key and has more than a third of its life left. */
function isFresh(certificate: X509Certificate, keyFile: string, now: Date): boolean {
  if (!existsSync(keyFile) || !certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile)))) return false;
  const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  return to - now.getTime() > (to - from) / 3;
}

function isFor({ subjectAltName = '' }: X509Certificate, names: readonly string[]): boolean {
  const present = subjectAltName.split(', ').map((entry) => entry.slice(entry.indexOf(':') + 1));
  const wanted = names.map((name) => name.toLowerCase());
  return present.toSorted().join() === wanted.toSorted().join();
}
