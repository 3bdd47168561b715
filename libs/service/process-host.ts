import { splitHostPort } from '@fairlead/config';
import type { Caller, Role } from '@fairlead/contracts';
import { connectNats, connectionState, type ConnectNatsOptions } from '@fairlead/messaging';
import {
  gaugeAtScrape,
  Registry,
  startHealthServer,
  type Check,
  type HealthServerOptions,
  type Logger,
} from '@fairlead/observability';
import type { ProcessConfig } from './settings.js';

export type NatsConnection = Awaited<ReturnType<typeof connectNats>>;

/** What a process of the control plane is begun with. */
export interface ProcessOptions {
  readonly role: Role;
  readonly config: ProcessConfig;
  readonly logger: Logger;
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal;
}

/**
 * What a process begins in its life: metrics, the health server, the connection to NATS, and whatever it adds. Disposing ends all
 * of it, last begun first. Needs neither Nest nor a database.
 */
export class ProcessHost implements AsyncDisposable {
  /** The process as NATS and its events name it. */
  readonly source: Caller;
  readonly registry = new Registry();
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly #config: ProcessConfig;
  readonly #parts = new AsyncDisposableStack();
  readonly #checks: (() => readonly Check[])[] = [];

  constructor({ role, config, logger, signal }: ProcessOptions) {
    this.source = { role, credential: config.FAIRLEAD_CREDENTIAL };
    this.logger = logger;
    this.signal = signal;
    this.#config = config;
  }

  /** Adds reasons to be ready or not. `check` is asked for each `/readyz` and must answer from memory. */
  addChecks(check: () => readonly Check[]): void {
    this.#checks.push(check);
  }

  /** All checks, in the order in which they were added. */
  readonly readiness = (): readonly Check[] => this.#checks.flatMap((check) => check());

  /** Keeps `part` until the process ends. */
  use<T extends AsyncDisposable | Disposable>(part: T): T {
    return this.#parts.use(part);
  }

  /** Calls `end` when the process ends. */
  defer(end: () => Promise<void> | void): void {
    this.#parts.defer(end);
  }

  /** Serves health, readiness and metrics where the settings say; nothing where they name no address. */
  async serveHealth(options: Partial<Pick<HealthServerOptions, 'readiness' | 'views'>> = {}): Promise<void> {
    const listen = this.#config.FAIRLEAD_HEALTH_LISTEN;
    if (listen === undefined) return;
    const { registry, readiness } = this;
    this.use(await startHealthServer({ ...splitHostPort(listen), registry, readiness, ...options }));
  }

  /** Waits for NATS, and adds its check. Throws INVALID_ARGUMENT for what `connectNats` refuses. */
  async joinNats(): Promise<NatsConnection> {
    const { logger, signal } = this;
    let joined: NatsConnection | undefined;
    meterNats(this.registry, () => joined !== undefined && connectionState(joined).connected);
    const connection = await connectNats({ ...this.source, ...natsServer(this.#config), logger, signal });
    joined = connection;
    this.defer(() => connection.close());
    this.addChecks(() => [{ name: 'nats', ok: connectionState(connection).connected }]);
    return connection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }
}

function meterNats(registry: Registry, isConnected: () => boolean): void {
  gaugeAtScrape(
    registry,
    { name: 'fairlead_nats_connected', help: 'Is this process connected to NATS? 1 or 0.' },
    (gauge) => {
      gauge.set(isConnected() ? 1 : 0);
    },
  );
}

function natsServer(
  config: ProcessConfig,
): Pick<ConnectNatsOptions, 'url' | 'seedFile' | 'caFile' | 'insecurePlaintext'> {
  return {
    url: config.FAIRLEAD_NATS_URL,
    seedFile: config.FAIRLEAD_NATS_SEED_FILE,
    caFile: config.FAIRLEAD_NATS_CA_FILE,
    insecurePlaintext: config.FAIRLEAD_INSECURE_PLAINTEXT,
  };
}
