import type { KeyedBucket, ProjectedBucket } from '@fairlead/events';
import type { NatsConnection } from '@nats-io/transport-node';
import { Module, type DynamicModule } from '@nestjs/common';
import { apiTokenCredentials } from './api-token-credentials.js';
import { isAdministrator } from './administration.js';
import { Authentication } from './authentication.js';
import { AuthenticationController } from './authentication.controller.js';
import type { CredentialSource } from './credentials.js';
import { GRANTS_BUCKET } from './grants-bucket.js';
import { grantsArea } from './grants-area.js';
import { accessBucket } from './projected-buckets.js';
import type { Runtime } from './runtime.js';

export interface StartedAccess extends AsyncDisposable {
  /** What answers its contract. */
  readonly module: DynamicModule;
  /** What it is the only writer of. */
  readonly buckets: readonly ProjectedBucket[];
  /** The same of one that is too large to be made anew at each change. */
  readonly keyedBucket: KeyedBucket;
}

/** Controllers that answer a part of the contract, and what they need. */
export interface Area {
  readonly controllers: NonNullable<DynamicModule['controllers']>;
  readonly parts: readonly object[];
}

@Module({})
class AccessModule {}

/** The parts of the service, and the loops that run beside them. */
export function startAccess(runtime: Runtime, nats: NatsConnection): StartedAccess {
  const owned = new AsyncDisposableStack();
  const sources: readonly CredentialSource[] = [apiTokenCredentials()];
  // Nobody logs in yet whose groups would be known.
  const grants = owned.use(grantsArea(runtime, nats, async () => []));
  const areas: readonly Area[] = [authenticationArea(runtime, sources), grants];
  return {
    module: {
      module: AccessModule,
      controllers: areas.flatMap(({ controllers }) => controllers),
      providers: areas.flatMap(({ parts }) => parts.map((part) => ({ provide: part.constructor, useValue: part }))),
    },
    buckets: [accessBucket(sources, runtime.now)],
    keyedBucket: GRANTS_BUCKET,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function authenticationArea(runtime: Runtime, sources: readonly CredentialSource[]): Area {
  return {
    controllers: [AuthenticationController],
    parts: [new Authentication(runtime, { sources, isAdministrator })],
  };
}
