import { systemClock } from '@fairlead/clock';
import { FairleadError, toFairleadError } from '@fairlead/errors';
import { RateLimitedLog } from '@fairlead/limits';
import type { Logger, Registry } from '@fairlead/observability';
import { Server, type CustomTransportStrategy } from '@nestjs/microservices';
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';
import { isObservable, lastValueFrom } from 'rxjs';
import type { DynamicModule, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MAX_RPC_BYTES } from './rpc-client.js';
import { rpcMetrics, type RpcMetrics } from './rpc-metrics.js';
import { readRequest, type ReceivedRequest } from './rpc-request.js';
import { whileConnected } from '../connection/connection-state.js';

/** Which part of a subject. */
const TENANT = 2;
const MAX_IN_FLIGHT = 256;
const DRAIN_MS = 10_000;

export interface RpcServerOptions {
  /** Stays the caller's: `close` answers what is in flight and leaves the connection open. */
  readonly connection: NatsConnection;
  /** Instances with the same queue share the work; the service's name. */
  readonly queue: string;
  readonly logger: Logger;
  /** Where request counts and durations are told. */
  readonly registry?: Registry;
  /** A request was refused before it reached its method, because its answer would have gone to somebody else. */
  readonly onForged?: (subject: string) => void;
}

/**
 * Nest's transport for `@RpcHandler` methods on a connection that the process already has, so that one credential, one
 * readiness and one reconnect serve everything. It speaks the packets of Nest's own NATS transport. More than 256 requests
 * at once are refused with RATE_LIMITED. Usage: `NestFactory.createMicroservice(Module, { strategy: new RpcServer(…) })`.
 */
export class RpcServer extends Server implements CustomTransportStrategy {
  readonly #metrics: RpcMetrics;
  readonly #lines = new RateLimitedLog();
  readonly #subscriptions: Subscription[] = [];
  readonly #inFlight = new Set<Promise<void>>();

  constructor(private readonly options: RpcServerOptions) {
    super();
    this.#metrics = rpcMetrics(options.registry);
  }

  listen(callback: (error?: unknown) => void): void {
    const { connection, queue } = this.options;
    for (const pattern of this.getHandlers().keys()) {
      const subscription = connection.subscribe(pattern, {
        queue,
        callback: (error, message) => {
          if (!error) this.#accept(pattern, message);
        },
      });
      this.#subscriptions.push(subscription);
      void this.#logRefusal(pattern, subscription);
    }
    callback();
  }

  /** Takes no more requests, and waits for those in flight, at most 10 s. */
  async close(): Promise<void> {
    if (!this.options.connection.isClosed()) for (const subscription of this.#subscriptions) subscription.unsubscribe();
    const answered = new AbortController();
    const late = systemClock.sleep(DRAIN_MS, answered.signal).catch(() => undefined);
    await Promise.race([Promise.all(this.#inFlight), late]);
    answered.abort();
  }

  override on(): void {
    throw new FairleadError('INTERNAL', 'listen to the connection itself');
  }

  override unwrap(): never {
    throw new FairleadError('INTERNAL', 'use the connection that was handed in');
  }

  #accept(pattern: string, message: Msg): void {
    const answering = this.#answer(pattern, message).finally(() => this.#inFlight.delete(answering));
    this.#inFlight.add(answering);
  }

  async #answer(pattern: string, message: Msg): Promise<void> {
    const startedMs = performance.now();
    let request: ReceivedRequest | undefined;
    try {
      request = readRequest(message);
      if (this.#inFlight.size > MAX_IN_FLIGHT) throw new FairleadError('RATE_LIMITED', 'too many requests at once');
      this.#respond(message, { id: request.id, response: await this.#handle(pattern, request), isDisposed: true });
      this.#metrics.answered(message.subject, 'OK', startedMs);
    } catch (error) {
      const known = toFairleadError(error);
      this.#log(message.subject, known);
      this.#metrics.answered(message.subject, known.code, startedMs);
      if (!request && known.code === 'FORBIDDEN') this.options.onForged?.(message.subject);
      // Without a request there may be no inbox that is the caller's own, and nobody else may get the answer.
      if (request) this.#respond(message, { id: request.id, err: known.toWire(), isDisposed: true });
    }
  }

  async #handle(pattern: string, request: ReceivedRequest): Promise<unknown> {
    const handler = this.getHandlerByPattern(pattern);
    if (!handler) throw new FairleadError('INTERNAL', `no handler for ${pattern}`);
    const result: unknown = await handler(request);
    return isObservable(result) ? lastValueFrom(result) : result;
  }

  #respond(message: Msg, packet: Record<string, unknown>): void {
    const text = JSON.stringify(packet);
    if (Buffer.byteLength(text) > MAX_RPC_BYTES) {
      throw new FairleadError('TOO_LARGE', `the answer is larger than ${MAX_RPC_BYTES} bytes`);
    }
    if (!this.options.connection.isClosed()) message.respond(text);
  }

  /**
   * What a gateway asks for the unauthenticated has its name: of each method, caller and code as often as `RateLimitedLog` has it, whatever tenant it makes up.
   * Metrics count all.
   */
  #log(subject: string, error: FairleadError): void {
    const line = this.#lines.nextOf(`${error.code} ${subject.split('.').toSpliced(TENANT, 1).join('.')}`);
    if (!line) return;
    const cause = error.cause instanceof Error ? { err: error.cause } : {};
    this.options.logger.log(error.kind.logLevel, 'rpc.refused', {
      subject,
      code: error.code,
      reason: error.message,
      ...cause,
      ...line,
    });
  }

  async #logRefusal(pattern: string, subscription: Subscription): Promise<void> {
    const reason = await subscription.closed;
    if (reason instanceof Error)
      this.options.logger.error('rpc.subscription_refused', { pattern, reason: reason.message });
  }
}

/** Starts the `@RpcHandler` methods of a Nest module. Disposing answers what is in flight, then stops. */
export async function serveRpc(module: DynamicModule, options: RpcServerOptions): Promise<AsyncDisposable> {
  const strategy = new RpcServer(options);
  const app = await NestFactory.createMicroservice(module, {
    strategy,
    logger: nestLogger(options.logger),
    abortOnError: false,
  });
  await app.listen();
  // Whoever is told that this process is ready is answered. After a lost connection the client subscribes anew by itself.
  await whileConnected(options.connection, options.connection.flush()).catch(() => undefined);
  options.logger.info('rpc.serving', { queue: options.queue });
  return { [Symbol.asyncDispose]: () => app.close() };
}

/** Nest's own lines, in our format; its chatter about modules and routes only when debugging. */
function nestLogger(logger: Logger): LoggerService {
  const text = (message: unknown): string => (message instanceof Error ? message.message : String(message));
  return {
    log: (message: unknown) => logger.debug('nest.log', { message: text(message) }),
    warn: (message: unknown) => logger.warn('nest.warning', { message: text(message) }),
    error: (message: unknown) => logger.error('nest.error', { message: text(message) }),
  };
}
