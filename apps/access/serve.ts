import {
  ACCESS_ENTITIES,
  ACCESS_MIGRATIONS,
  checkAdministratorToken,
  setAdministratorToken,
  startAccess,
  type Runtime,
} from '@fairlead/access';
import type { KeyedProjection, Projection } from '@fairlead/events';
import type { ServiceDefinition } from '@fairlead/service';
import { readConfig, type Config } from './config.js';

export const access: ServiceDefinition<Config> = {
  role: 'access',
  entities: ACCESS_ENTITIES,
  migrations: ACCESS_MIGRATIONS,
  readConfig,
  prepare(config) {
    const administratorToken = config.FAIRLEAD_ADMIN_TOKEN_FILE;
    checkAdministratorToken(administratorToken.reveal());
    let projections: readonly (Projection | KeyedProjection)[] = [];
    const synced = (): boolean => projections.length > 0 && projections.every((each) => each.synced);
    return {
      readiness: () => [{ name: 'projection', ok: synced() }],
      async start(host) {
        const { database, source, logger, onCommitted, nats } = host;
        const runtime: Runtime = { database, source, logger, onCommitted, now: () => new Date() };
        const started = host.use(startAccess(runtime, { nats }));
        projections = [host.project(started.buckets), host.projectKeys(started.keyedBucket)];
        await host.retryWhileAway(() => setAdministratorToken(runtime, administratorToken.reveal()));
        return started.module;
      },
    };
  },
};
