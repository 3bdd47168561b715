import { fullJitterMs, systemClock } from '@fairlead/clock';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import { connect, type Authenticator, type NatsConnection, type TlsOptions } from '@nats-io/transport-node';
import { connectionState } from './connection-state.js';
import { inboxPrefix, rememberInboxPrefix, type Holder } from './inbox.js';
import { explainNatsFailure, natsServerTls, type NatsServer } from './nats-server-tls.js';
import { nkeyAuthenticator, readSeedFile } from './nkey.js';

const RETRY = { baseMs: 200, capMs: 5_000 };
const CONNECT_TIMEOUT_MS = 5_000;
const PING_INTERVAL_MS = 5_000;
const RECONNECT_MIN_MS = 50;
const RECONNECT_SPREAD_MS = 2_000;

export interface ConnectNatsOptions extends Holder, NatsServer {
  /** nkey seed, readable by its owner only. */
  readonly seedFile: string;
  readonly logger: Logger;
  /** Gives up waiting for the first connection. */
  readonly signal?: AbortSignal;
}

/**
 * Connects, and stays connected: the first attempt is repeated with full jitter until it succeeds, each failure logged;
 * a lost connection is made anew forever. Silence of 10 s counts as lost. Throws INVALID_ARGUMENT for a bad seed or CA file,
 * and for plain text to another machine.
 */
export async function connectNats(options: ConnectNatsOptions): Promise<NatsConnection> {
  const authenticator = nkeyAuthenticator(readSeedFile(options.seedFile));
  const tls = natsServerTls(options);
  for (let attempt = 0; ; attempt += 1) {
    options.signal?.throwIfAborted();
    try {
      const nc = await connectOnce(options, authenticator, tls);
      options.logger.info('nats.connected', { server: nc.getServer() });
      rememberInboxPrefix(nc, options);
      connectionState(nc);
      void logStatus(nc, options.logger);
      return nc;
    } catch (error) {
      const reason = explainNatsFailure(error, options, tls);
      options.logger.warn('nats.unreachable', { url: options.url, attempt, reason });
      await systemClock.sleep(fullJitterMs(attempt, RETRY), options.signal);
    }
  }
}

function connectOnce(
  options: ConnectNatsOptions,
  authenticator: Authenticator,
  tls: TlsOptions | null,
): Promise<NatsConnection> {
  return connect({
    servers: options.url.split(','),
    name: `fairlead-${options.role}-${options.credential}`,
    authenticator,
    inboxPrefix: inboxPrefix(options),
    tls,
    timeout: CONNECT_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    // A server that restarts may refuse for a moment while it reads its users again.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () =>
      RECONNECT_MIN_MS + fullJitterMs(0, { baseMs: RECONNECT_SPREAD_MS, capMs: RECONNECT_SPREAD_MS }),
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
  });
}

async function logStatus(nc: NatsConnection, logger: Logger): Promise<void> {
  for await (const status of nc.status()) {
    if (status.type === 'disconnect') logger.warn('nats.disconnected', { server: status.server });
    else if (status.type === 'reconnect') logger.info('nats.reconnected', { server: status.server });
    else if (status.type === 'error') logger.warn('nats.error', { reason: messageOf(status.error) });
    else if (status.type === 'slowConsumer') logger.warn('nats.slow_consumer', { pending: status.pending });
  }
}
