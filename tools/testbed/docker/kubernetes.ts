import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';
import { COMPONENTS } from '../binaries/catalog.js';
import { onFreePorts } from '../components/auto-port.js';
import type { KubeInfo, KubeOptions, Running } from '../components/contract.js';
import { TestbedError } from '../errors.js';
import { logToStderr } from '../log.js';
import { runContainer } from './container.js';

const DISABLED = 'traefik,servicelb,metrics-server,local-storage';

/** k3s in a privileged container; its state stays in the data directory. */
export async function startK3sContainer(options: KubeOptions): Promise<Running<KubeInfo>> {
  const dataDir = resolve(options.dataDir);
  const source = join(dataDir, 'k3s');
  await mkdir(source, { recursive: true });
  return onFreePorts([options.apiPort], (ports) => {
    const [port] = ports as [number];
    return runContainer<KubeInfo>({
      what: 'kubernetes',
      image: `rancher/k3s:v${COMPONENTS['kube-apiserver'].version}-k3s1`,
      ports: [{ container: 6443, host: port }],
      log: options.log ?? logToStderr,
      configure: (container, { Wait }) =>
        container
          .withPrivilegedMode()
          .withTmpFs({ '/run': 'rw', '/var/run': 'rw' })
          .withBindMounts([{ source, target: '/var/lib/rancher/k3s' }])
          .withCommand(['server', `--disable=${DISABLED}`, '--tls-san=127.0.0.1'])
          .withStartupTimeout(180_000)
          .withWaitStrategy(Wait.forSuccessfulCommand('kubectl get --raw /readyz')),
      connect: (container) => readAccess(container, port, join(dataDir, 'admin.kubeconfig')),
    });
  });
}

async function readAccess(
  container: StartedTestContainer,
  port: number,
  adminKubeconfigPath: string,
): Promise<KubeInfo> {
  const { output } = await container.exec(['cat', '/etc/rancher/k3s/k3s.yaml']);
  const url = `https://${container.getHost()}:${port}`;
  const ca = /certificate-authority-data: (\S+)/u.exec(output)?.[1];
  if (ca === undefined) throw new TestbedError('k3s wrote no kubeconfig with a certificate authority');
  await writeFile(adminKubeconfigPath, output.replace(/server: \S+/u, `server: ${url}`), { mode: 0o600 });
  const version = await container.exec(['kubectl', 'get', '--raw', '/version']);
  const { gitVersion } = JSON.parse(version.output) as { gitVersion: string };
  return { url, caPem: Buffer.from(ca, 'base64').toString('utf8'), adminKubeconfigPath, version: gitVersion };
}
