import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { messageOf } from '@fairlead/errors';
import { stringify } from 'yaml';
import { failure } from '../failure.js';
import { shellWord } from '../output/shell-word.js';
import type { CertifiedClient } from '../session/answers.js';
import { writePrivateFile } from '../session/login-store.js';

/** Where the parts of a client are, absolute. */
interface ClientFiles {
  /** Private key, PKCS#8. */
  readonly key: string;
  /** Certificate and the ones it was issued by. */
  readonly certificate: string;
  /** Root of the doors' certificates. */
  readonly authority: string;
}

export function clientFiles(folder: string): ClientFiles {
  const at = (name: string): string => join(resolve(folder), name);
  return { key: at('client.key'), certificate: at('client.crt'), authority: at('ca.crt') };
}

/** Writes them for their owner only, and makes the folder if it is missing. */
export async function writeClientFiles(
  folder: string,
  text: { readonly [Part in keyof ClientFiles]: string },
): Promise<ClientFiles> {
  const files = clientFiles(folder);
  await mkdir(resolve(folder), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw failure('INTERNAL', `cannot make ${folder}: ${messageOf(error)}`, 'choose another folder', error);
  });
  // The key last: it fits the certificate beside it whenever it is there.
  await writePrivateFile(files.authority, text.authority);
  await writePrivateFile(files.certificate, text.certificate);
  await writePrivateFile(files.key, text.key);
  return files;
}

/** Lines that show how a client's files are used, to be pasted. */
export function usageExamples({ client, doors }: CertifiedClient, files: ClientFiles): string[] {
  const [door] = doors;
  if (!door) return ['This installation names no CONNECT door: set FAIRLEAD_CONNECT_DOORS for the API.'];
  const [only, ...others] = client.clusters ?? [];
  const single = only !== undefined && others.length === 0;
  return [
    `CONNECT doors: ${doors.map(({ name, url }) => `${name} ${url}`).join(', ')}`,
    '',
    '# A port in the cluster, if its targets allow it (the user name of the proxy is the cluster):',
    curl(door.url, only ?? 'CLUSTER', files),
    ...(single
      ? [
          '',
          '# kube-apiserver --egress-selector-config-file=FILE, for all that it dials in that cluster:',
          egress(door.url, files),
        ]
      : []),
  ];
}

function curl(door: string, cluster: string, { key, certificate, authority }: ClientFiles): string {
  const proxy = new URL(door);
  const flags = [
    `--proxy ${proxy.origin} --proxy-user ${cluster}:`,
    `--proxy-cacert ${shellWord(authority)} --proxy-cert ${shellWord(certificate)} --proxy-key ${shellWord(key)}`,
  ];
  return ['curl --proxytunnel', ...flags, 'http://HOST:PORT/'].join(' \\\n  ');
}

/** https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/ describes the file. */
function egress(door: string, { key, certificate, authority }: ClientFiles): string {
  const tlsConfig = { caBundle: authority, clientCert: certificate, clientKey: key };
  const transport = { tcp: { url: new URL(door).origin, tlsConfig } };
  return stringify({
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections: [{ name: 'cluster', connection: { proxyProtocol: 'HTTPConnect', transport } }],
  }).trimEnd();
}
