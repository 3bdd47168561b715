import { startNats, startPostgres, type NatsInfo, type PostgresInfo, type ServerTls } from '@fairlead/testbed';
import type { StackLog } from '../events.js';
import { componentUnit, type ComponentUnit } from '../process/component-unit.js';
import { linkLog, type StateDir } from '../state/state-dir.js';

interface Server {
  readonly port: number;
  readonly tls: ServerTls;
}

/** nats-server with JetStream, and with one user for each of our processes. */
export function natsUnit(
  state: StateDir,
  { port, tls, authorizationConfig }: Server & { readonly authorizationConfig: string },
  log: StackLog,
): ComponentUnit<NatsInfo> {
  const dataDir = state.file('nats');
  const logPath = state.file('nats', 'nats-server.log');
  linkLog(state, 'nats', logPath);
  return componentUnit({
    name: 'nats',
    logPaths: [logPath],
    start: (signal) => startNats({ dataDir, port, tls, authorizationConfig, log: progress(log), signal }),
  });
}

/** Postgres, which admits each service to its database only. */
export function postgresUnit(
  state: StateDir,
  { port, tls, accessConfig, durable }: Server & { readonly accessConfig: string; readonly durable: boolean },
  log: StackLog,
): ComponentUnit<PostgresInfo> {
  const dataDir = state.file('postgres');
  const logPath = state.file('postgres', 'postgres.log');
  linkLog(state, 'postgres', logPath);
  return componentUnit({
    name: 'postgres',
    logPaths: [logPath],
    start: (signal) => startPostgres({ dataDir, port, tls, accessConfig, durable, log: progress(log), signal }),
  });
}

function progress(log: StackLog): (text: string) => void {
  return (text) => log({ kind: 'progress', text });
}
