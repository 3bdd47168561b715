import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How one API server is reached. Credentials that the kubelet replaces are read anew for each request. */
export interface ClusterAccess {
  readonly host: string;
  readonly port: number;
  readonly caPem: string;
  readonly clientCertificate?: { readonly certPem: string; readonly keyPem: string };
  readonly token?: () => Promise<string>;
}

/** From a pod: its service account. */
export async function accessFromPod(options: {
  readonly host: string;
  readonly port: number;
  readonly serviceAccountDir: string;
}): Promise<ClusterAccess> {
  const { host, port, serviceAccountDir } = options;
  return {
    // An IPv6 address in brackets is a URL's form, not a socket's.
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port,
    caPem: await readFile(join(serviceAccountDir, 'ca.crt'), 'utf8'),
    token: async () => (await readFile(join(serviceAccountDir, 'token'), 'utf8')).trim(),
  };
}
