import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findBinary } from '../binaries/find-binary.js';
import { logToStderr, type Log } from '../log.js';
import { readSettings } from '../settings.js';
import { onFreePorts } from './auto-port.js';
import { pointTo, runServer, untilReady, type Running } from './running.js';

export interface NatsInfo {
  readonly url: string;
  readonly port: number;
  /** Absent when the address came from the environment. */
  readonly monitorUrl?: string;
}

export interface NatsOptions {
  /** Holds configuration, JetStream's files and the server's log; made when absent. */
  readonly dataDir: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Text for the server's configuration, for example an `authorization {}` block. */
  readonly authorizationConfig?: string;
  readonly log?: Log;
  readonly signal?: AbortSignal;
  /** JetStream's limit on disk, in bytes. */
  readonly maxStoreBytes?: number;
}

const READY_TIMEOUT_MS = 20_000;
const DEFAULT_STORE_BYTES = 1024 ** 3;

/**
 * Starts a nats-server with JetStream on 127.0.0.1, or points to the one NATS_URL names. Throws TestbedError when there is none
 * to be had, naming what to install.
 */
export async function startNats(options: NatsOptions): Promise<Running<NatsInfo>> {
  const log = options.log ?? logToStderr;
  const settings = readSettings();
  const address = process.env['NATS_URL'];
  if (address && settings.providers.includes('env')) {
    log(`nats: ${new URL(address).host}, from NATS_URL`);
    return pointTo({ url: address, port: Number(new URL(address).port || 4222) }, 'the NATS server of NATS_URL');
  }
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
    info: { url: `nats://127.0.0.1:${port}`, port, monitorUrl },
    async start(launch) {
      await writeFile(configPath, natsConfig(options, `127.0.0.1:${port}`, `127.0.0.1:${monitorPort}`), {
        mode: 0o600,
      });
      const logPath = join(dataDir, 'nats-server.log');
      const args = ['--config', configPath];
      const child = await launch({ name: 'nats-server', path, args, logPath, cwd: dataDir, stopSignal: 'SIGTERM' });
      const probe = () => expectOk(`${monitorUrl}/healthz`);
      await untilReady({ child, probe, timeoutMs: READY_TIMEOUT_MS, signal });
    },
  });
}

/** The configuration file. Credentials stay in the file (0600), never in process arguments. */
export function natsConfig(options: NatsOptions, listen: string, monitor: string, storeDir?: string): string {
  const store = storeDir ?? join(resolve(options.dataDir), 'jetstream');
  return [
    'server_name: "fairlead-testbed"',
    `listen: "${listen}"`,
    `http: "${monitor}"`,
    `jetstream { store_dir: ${JSON.stringify(store)}, max_file_store: ${options.maxStoreBytes ?? DEFAULT_STORE_BYTES} }`,
    options.authorizationConfig ?? '',
    '',
  ].join('\n');
}

/** Throws unless the URL answers 200. */
async function expectOk(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
}
