import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

/** Where the files of a test cluster's keys and certificates are. */
export interface KubernetesPki {
  readonly caCert: string;
  readonly caPem: string;
  readonly dir: string;
  /** Path of `<name>.crt` or `<name>.key`. */
  path(file: `${Leaf | 'ca' | 'service-account'}.${'crt' | 'key'}`): string;
}

type Leaf = 'serving' | 'etcd' | 'admin' | 'kubelet-client' | 'etcd-client';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const YEAR_MS = 365 * 24 * 3600 * 1000;
const SERVER_NAMES: x509.JsonGeneralNames = [
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '::1' },
  ...['localhost', 'etcd', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'].map((value) => ({
    type: 'dns' as const,
    value,
  })),
];

/** Loads the keys and certificates of a data directory, made once: a restart keeps them, so clients go on trusting it. `serverIps` are the API server's beside loopback. */
export async function ensurePki(dataDir: string, serverIps: readonly string[] = []): Promise<KubernetesPki> {
  const dir = join(dataDir, 'pki');
  if (!(await stat(dir).catch(() => undefined))) {
    const temporary = `${dir}.new`;
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    await generate(temporary, serverIps);
    await rename(temporary, dir);
  }
  const path = (file: string) => join(dir, file);
  return { dir, caCert: path('ca.crt'), caPem: await readFile(path('ca.crt'), 'utf8'), path };
}

async function generate(dir: string, serverIps: readonly string[]): Promise<void> {
  const issuer = await createAuthority(dir);
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  const names = [...SERVER_NAMES, ...serverIps.map((value) => ({ type: 'ip' as const, value }))];
  await issue(dir, 'serving', 'CN=kube-apiserver', [serverAuth], issuer, names);
  // etcd presents its certificate as a client too, to its own gRPC gateway.
  await issue(dir, 'etcd', 'CN=etcd', [serverAuth, clientAuth], issuer);
  await issue(dir, 'etcd-client', 'CN=kube-apiserver-etcd-client', [clientAuth], issuer);
  await issue(dir, 'admin', 'O=system:masters,CN=kubernetes-admin', [clientAuth], issuer);
  await issue(dir, 'kubelet-client', 'O=system:masters,CN=kube-apiserver-kubelet-client', [clientAuth], issuer);
  const serviceAccount = await generateKey();
  await writePem(
    dir,
    'service-account.key',
    'PRIVATE KEY',
    await webcrypto.subtle.exportKey('pkcs8', serviceAccount.privateKey),
  );
  await writePem(
    dir,
    'service-account.crt',
    'PUBLIC KEY',
    await webcrypto.subtle.exportKey('spki', serviceAccount.publicKey),
  );
}

/** Makes an authority, `ca.crt` and `ca.key` in the directory. */
export async function createAuthority(dir: string): Promise<Issuer> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await generateKey();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=fairlead-testbed-ca',
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  await write(dir, 'ca', keys.privateKey, ca);
  return { name: ca.subject, key: keys.privateKey };
}

/**
 * Makes `<dir>/<file>.crt` and `.key`, mode 0600, for a server at an IP address, with the authority of a test cluster that
 * has its `pkiDir` here.
 */
export async function issueServing(pkiDir: string, server: { dir: string; file: string; name: string; ip: string }) {
  const issuer = await issuerOf(pkiDir);
  const names: x509.JsonGeneralNames = [
    { type: 'dns', value: server.name },
    { type: 'ip', value: server.ip },
  ];
  await issue(server.dir, server.file, `CN=${server.name}`, [x509.ExtendedKeyUsage.serverAuth], issuer, names);
}

/** Makes `<dir>/<file>.crt` and `.key` for a client of the cluster; `subject` says as whom the API server knows it. */
export async function issueClient(pkiDir: string, client: { dir: string; file: string; subject: string }) {
  const { dir, file, subject } = client;
  await issue(dir, file, subject, [x509.ExtendedKeyUsage.clientAuth], await issuerOf(pkiDir));
}

async function issuerOf(pkiDir: string): Promise<Issuer> {
  x509.cryptoProvider.set(webcrypto);
  const [cert, key] = await Promise.all(['ca.crt', 'ca.key'].map((file) => readFile(join(pkiDir, file), 'utf8')));
  const [pkcs8] = x509.PemConverter.decode(key!);
  return {
    name: new x509.X509Certificate(cert!).subject,
    key: await webcrypto.subtle.importKey('pkcs8', pkcs8!, ALGORITHM, false, ['sign']),
  };
}

interface Issuer {
  readonly name: string;
  readonly key: webcrypto.CryptoKey;
}

async function issue(
  dir: string,
  file: string,
  subject: string,
  usages: x509.ExtendedKeyUsageType[],
  issuer: Issuer,
  serverNames: x509.JsonGeneralNames = SERVER_NAMES,
): Promise<void> {
  const keys = await generateKey();
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.name,
    signingKey: issuer.key,
    publicKey: keys.publicKey,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages),
      ...(usages.includes(x509.ExtendedKeyUsage.serverAuth)
        ? [new x509.SubjectAlternativeNameExtension(serverNames)]
        : []),
    ],
  });
  await write(dir, file, keys.privateKey, certificate);
}

const generateKey = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

/** An hour back, for clocks that differ; years ahead, so that a kept data directory goes on working. */
function validity(): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 10 * YEAR_MS) };
}

async function write(
  dir: string,
  file: string,
  key: webcrypto.CryptoKey,
  certificate: x509.X509Certificate,
): Promise<void> {
  await writePem(dir, `${file}.key`, 'PRIVATE KEY', await webcrypto.subtle.exportKey('pkcs8', key));
  await writeFile(join(dir, `${file}.crt`), `${certificate.toString('pem')}\n`, { mode: 0o600 });
}

async function writePem(dir: string, file: string, label: string, der: ArrayBuffer): Promise<void> {
  await writeFile(join(dir, file), `${x509.PemConverter.encode(der, label)}\n`, { mode: 0o600 });
}
