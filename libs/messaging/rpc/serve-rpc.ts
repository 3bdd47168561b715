import type { Logger } from '@fairlead/observability';
import type { DynamicModule, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { whileConnected } from '../connection/while-connected.js';
import { RpcServer, type RpcServerOptions } from './rpc-server.js';

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
