import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { logToStderr } from '../log.js';
import { onFreePorts } from './auto-port.js';
import { chooseServer } from './choose-server.js';
import type { NatsInfo, NatsOptions, Running } from './contract.js';
import { natsConfig } from './nats-config.js';
import { pointTo, runServer, untilReady } from './running.js';

const READY_TIMEOUT_MS = 20_000;

/**
 * Starts a nats-server with JetStream on 127.0.0.1, or points to the one NATS_URL names. Throws TestbedError when there is none
 * to be had, naming what to install.
 */
export async function startNats(options: NatsOptions): Promise<Running<NatsInfo>> {
  const log = options.log ?? logToStderr;
  const chosen = await chooseServer({ what: 'NATS', variable: 'NATS_URL', dockerByDefault: true });
  if (chosen.kind === 'env') {
    const { host, port } = new URL(chosen.address);
    log(`nats: ${host} (env: NATS_URL names it)`);
    return pointTo({ url: chosen.address, port: Number(port || 4222) }, 'the NATS server of NATS_URL');
  }
  if (chosen.kind === 'docker') return (await import('../docker/nats.js')).startNatsContainer(options);
  const binary = await findBinary('nats-server', options);
  return onFreePorts([options.port, 0], ([port, monitorPort]) =>
    startProcess(options, binary.path, port!, monitorPort!),
  );
}

function startProcess(
  options: NatsOptions,
  path: string,
  port: number,
  monitorPort: number,
): Promise<Running<NatsInfo>> {
  const { signal } = options;
  const dataDir = resolve(options.dataDir);
  const monitorUrl = `http://127.0.0.1:${monitorPort}`;
  const configPath = join(dataDir, 'nats.conf');
  return runServer<NatsInfo>({
    dataDir,
    info: { url: `${options.tls ? 'tls' : 'nats'}://127.0.0.1:${port}`, port, monitorUrl },
    async start(launch) {
      await writeFile(
        configPath,
        natsConfig(options, { listen: `127.0.0.1:${port}`, monitor: `127.0.0.1:${monitorPort}` }),
        {
          mode: 0o600,
        },
      );
      const logPath = join(dataDir, 'nats-server.log');
      const args = ['--config', configPath];
      const child = await launch({ name: 'nats-server', path, args, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
      const probe = () => expectOk(`${monitorUrl}/healthz`);
      await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
    },
  });
}

/** Throws unless the URL answers 200. */
async function expectOk(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}
