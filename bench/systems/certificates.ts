import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testAuthority } from '@fairlead/testing';

/** Certificates of the systems that are not Fairlead: the same kind of key and the same length of chain as Fairlead's own. */
export interface Certificates {
  /** Holds ca.crt, server.crt, server.key, client.crt and client.key. */
  readonly folder: string;
  readonly caPem: string;
  readonly clientCertPem: string;
  readonly clientKeyPem: string;
}

/** Makes them for servers at these addresses. */
export async function writeCertificates(folder: string, addresses: readonly string[]): Promise<Certificates> {
  const authority = await testAuthority();
  const [server, client] = await Promise.all([authority.serving(addresses), authority.agent(randomUUID())]);
  const leafAndIssuing = ({ chain }: typeof server): string => chain.slice(0, 2).join('');
  const caPem = authority.roots.join('');
  await mkdir(folder, { mode: 0o700 });
  const files = {
    'ca.crt': caPem,
    'server.crt': leafAndIssuing(server),
    'server.key': server.privateKeyPem,
    'client.crt': leafAndIssuing(client),
    'client.key': client.privateKeyPem,
  };
  await Promise.all(Object.entries(files).map(([name, pem]) => writeFile(join(folder, name), pem, { mode: 0o600 })));
  return { folder, caPem, clientCertPem: leafAndIssuing(client), clientKeyPem: client.privateKeyPem };
}
