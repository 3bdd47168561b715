import type { ProjectedBucket } from '@fairlead/events';
import { Module, type DynamicModule } from '@nestjs/common';
import { apiTokenCredentials } from './api-token-credentials.js';
import { Authentication } from './authentication.js';
import { AuthenticationController } from './authentication.controller.js';
import type { CredentialSource } from './credentials.js';
import { accessBucket } from './projected-buckets.js';
import type { Runtime } from './runtime.js';

export interface StartedAccess extends AsyncDisposable {
  /** What answers its contract. */
  readonly module: DynamicModule;
  /** What it is the only writer of. */
  readonly buckets: readonly ProjectedBucket[];
}

/** Controllers that answer a part of the contract, and what they need. */
interface Area {
  readonly controllers: NonNullable<DynamicModule['controllers']>;
  readonly parts: readonly object[];
}

@Module({})
class AccessModule {}

/** The parts of the service, and the loops that run beside them. */
export function startAccess(runtime: Runtime): StartedAccess {
  const owned = new AsyncDisposableStack();
  const sources: readonly CredentialSource[] = [apiTokenCredentials()];
  const areas: readonly Area[] = [authenticationArea(runtime, sources)];
  return {
    module: {
      module: AccessModule,
      controllers: areas.flatMap(({ controllers }) => controllers),
      providers: areas.flatMap(({ parts }) => parts.map((part) => ({ provide: part.constructor, useValue: part }))),
    },
    buckets: [accessBucket(sources, runtime.now)],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function authenticationArea(runtime: Runtime, sources: readonly CredentialSource[]): Area {
  // Nobody else has anything without a grant.
  const isAdministrator = async (): Promise<boolean> => false;
  return {
    controllers: [AuthenticationController],
    parts: [new Authentication(runtime, { sources, isAdministrator })],
  };
}
