import type { ProjectedBucket } from '@fairlead/events';
import { Module, type DynamicModule } from '@nestjs/common';
import { apiTokenCredentials } from './api-token-credentials.js';
import { Authentication } from './authentication.js';
import { AuthenticationController } from './authentication.controller.js';
import type { CredentialSource } from './credentials.js';
import { Issuers } from './issuers.js';
import { loginCredentials } from './login-credentials.js';
import { LoginsController } from './logins.controller.js';
import { Logins, type LoginsOptions } from './logins.js';
import { accessBucket } from './projected-buckets.js';
import type { Runtime } from './runtime.js';
import { StandingLogins } from './standing-logins.js';
import { tendLogins } from './tend-logins.js';

export interface AccessOptions {
  readonly logins: LoginsOptions;
}

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
export function startAccess(runtime: Runtime, options: AccessOptions): StartedAccess {
  const owned = new AsyncDisposableStack();
  const sources: readonly CredentialSource[] = [apiTokenCredentials(), loginCredentials];
  const standing = new StandingLogins(runtime);
  owned.use(tendLogins(runtime, standing));
  const areas: readonly Area[] = [
    authenticationArea(runtime, sources),
    {
      controllers: [LoginsController],
      parts: [new Issuers(runtime), new Logins(runtime, options.logins), standing],
    },
  ];
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
