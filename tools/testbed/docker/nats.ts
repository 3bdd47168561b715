import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { COMPONENTS } from '../binaries/catalog.js';
import { onFreePorts } from '../components/auto-port.js';
import type { NatsInfo, NatsOptions, Running } from '../components/contract.js';
import { natsConfig } from '../components/nats-config.js';
import { logToStderr } from '../log.js';
import { asThisUser, runContainer } from './container.js';

/** NATS in a container; JetStream's files stay in the data directory. */
export async function startNatsContainer(options: NatsOptions): Promise<Running<NatsInfo>> {
  const source = join(resolve(options.dataDir), 'jetstream');
  await mkdir(source, { recursive: true });
  const inside = { certFile: '/etc/nats/server.crt', keyFile: '/etc/nats/server.key' };
  const where = { listen: '0.0.0.0:4222', monitor: '0.0.0.0:8222', storeDir: '/data', tls: inside };
  const content = natsConfig(options, where);
  const { tls } = options;
  const files = tls
    ? [
        { content: await readFile(tls.certFile), target: inside.certFile },
        { content: await readFile(tls.keyFile), target: inside.keyFile },
      ]
    : [];
  return onFreePorts([options.port, 0], (ports) => {
    const [port, monitorPort] = ports as [number, number];
    return runContainer<NatsInfo>({
      what: 'nats',
      image: `nats:${COMPONENTS['nats-server'].version}`,
      ports: [
        { container: 4222, host: port },
        { container: 8222, host: monitorPort },
      ],
      log: options.log ?? logToStderr,
      configure: (container, { Wait }) =>
        asThisUser(container)
          .withBindMounts([{ source, target: '/data' }])
          .withCopyContentToContainer([{ content, target: '/etc/nats/testbed.conf' }, ...files])
          .withCommand(['--config', '/etc/nats/testbed.conf'])
          .withWaitStrategy(Wait.forHttp('/healthz', 8222)),
      connect: async (container) => ({
        url: `${tls ? 'tls' : 'nats'}://${container.getHost()}:${port}`,
        port,
        monitorUrl: `http://${container.getHost()}:${monitorPort}`,
      }),
    });
  });
}
