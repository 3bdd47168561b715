import { stringify } from 'yaml';
import type { CertifiedClient } from '../session/answers.js';
import { shellWord } from '../output/shell-word.js';
import type { ClientFiles } from './client-files.js';

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
