import { mkdir } from 'node:fs/promises';
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
  const content = natsConfig(options, { listen: '0.0.0.0:4222', monitor: '0.0.0.0:8222', storeDir: '/data' });
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
          .withCopyContentToContainer([{ content, target: '/etc/nats/testbed.conf' }])
          .withCommand(['--config', '/etc/nats/testbed.conf'])
          .withWaitStrategy(Wait.forHttp('/healthz', 8222)),
      connect: async (container) => ({
        url: `nats://${container.getHost()}:${port}`,
        port,
        monitorUrl: `http://${container.getHost()}:${monitorPort}`,
      }),
    });
  });
}
