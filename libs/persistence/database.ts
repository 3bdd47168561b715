import 'reflect-metadata';
import type { Duplex } from 'node:stream';
import { fullJitterMs, systemClock } from '@fairlead/clock';
import { FairleadError, messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import pg from 'pg';
import { DataSource, DefaultNamingStrategy, type MixedList } from 'typeorm';
import { databaseConnection, explainDatabaseFailure, type DatabaseServer } from './database-server.js';

const RETRY = { baseMs: 200, capMs: 5_000 };
const POOL_SIZE = 10;
const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 5_000;
/** Longer than the server's own limit: it ends what the server no longer answers. */
const QUERY_TIMEOUT_MS = 8_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;

type Class = new (...args: never[]) => object;

export interface DatabaseOptions extends DatabaseServer {
  /** Names the schema, and the connections in pg_stat_activity. */
  readonly service: string;
  readonly entities: readonly Class[];
  /** In order; their names end in a number that grows. */
  readonly migrations: readonly Class[];
  readonly logger: Logger;
  /** Until a connection that does not answer is given up; longer than the server's own limit. */
  readonly queryTimeoutMs?: number;
}

/**
 * The pool of one service on its own schema; nothing is connected yet. Every statement has a deadline. Throws
 * INVALID_ARGUMENT for a URL or a CA file that `databaseConnection` refuses.
 */
export function createDatabase(options: DatabaseOptions): DataSource {
  const { url, ssl } = databaseConnection(options);
  return new DataSource({
    type: 'postgres',
    // Named here, because TypeORM looks for it at run time, where a bundle has no packages.
    driver: pg,
    url,
    ssl,
    applicationName: `fairlead-${options.service}`,
    entities: [...options.entities] as unknown as MixedList<() => unknown>,
    migrations: [...options.migrations] as unknown as MixedList<() => unknown>,
    migrationsTableName: 'migrations',
    namingStrategy: new ColumnNames(),
    installExtensions: false,
    logging: false,
    poolSize: POOL_SIZE,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    poolErrorHandler: (error: unknown) => options.logger.warn('database.connection_lost', { reason: messageOf(error) }),
    extra: {
      Client: HeardClient,
      keepAlive: true,
      query_timeout: options.queryTimeoutMs ?? QUERY_TIMEOUT_MS,
      options: [
        `-c search_path=${options.service}`,
        `-c statement_timeout=${STATEMENT_TIMEOUT_MS}`,
        `-c lock_timeout=${STATEMENT_TIMEOUT_MS}`,
        `-c idle_in_transaction_session_timeout=${IDLE_TRANSACTION_TIMEOUT_MS}`,
      ].join(' '),
    },
  });
}

/**
 * A connection that is lost between two statements, or on its way to or from the pool, says so by an error that nobody may be listening to, and that would end the
 * process. The next statement over it fails by itself.
 */
class HeardClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    const own = this as unknown as { query: Query; readonly connection: { readonly stream: Duplex } };
    const query = own.query.bind(this);
    own.query = (...asked) => {
      const answer = query(...asked);
      if (answer instanceof Promise)
        answer.catch((error: unknown) => isUnanswered(error) && own.connection.stream.destroy());
      return answer;
    };
  }
}

type Query = (...asked: readonly unknown[]) => unknown;

/** The connection is busy with it still, and may be within a transaction: the pool is to give it to nobody. */
function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout';
}

/** A property `tenantId` is the column `tenant_id`, where the entity does not say otherwise. */
class ColumnNames extends DefaultNamingStrategy {
  override columnName(property: string, given: string | undefined): string {
    return given ?? property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }
}

/** Opens the pool, with full jitter until it succeeds, each failure logged. Afterwards the pool reconnects by itself. */
export async function connectDatabase(database: DataSource, logger: Logger, signal?: AbortSignal): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      await database.initialize();
      logger.info('database.connected');
      return;
    } catch (error) {
      logger.warn('database.unreachable', { attempt, reason: explainDatabaseFailure(error) });
      await systemClock.sleep(fullJitterMs(attempt, RETRY), signal);
    }
  }
}

/** Does the database answer? For readiness; ask in the background, not on a request. */
export async function databaseAnswers(database: DataSource): Promise<boolean> {
  if (!database.isInitialized) return false;
  return database.query('select 1').then(
    () => true,
    () => false,
  );
}

/** Does something that the service cannot begin without, again with full jitter while the database is away. */
export async function retryWhileAway<T>(work: () => Promise<T>, logger: Logger, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FairleadError) || error.code !== 'UNAVAILABLE') throw error;
      logger.warn('database.unreachable', { attempt, reason: error.message });
      await systemClock.sleep(fullJitterMs(attempt, RETRY), signal);
    }
  }
}
