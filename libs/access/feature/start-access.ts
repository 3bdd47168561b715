import type { KeyedBucket, ProjectedBucket } from '@fairlead/events';
import { createRpcClient } from '@fairlead/messaging';
import type { NatsConnection } from '@nats-io/transport-node';
import { Module, type DynamicModule } from '@nestjs/common';
import { apiRolesOf } from './administration.js';
import { apiTokenCredentials } from './api-token-credentials.js';
import { ApiTokensController } from './api-tokens.controller.js';
import { ApiTokens } from './api-tokens.js';
import { Authentication } from './authentication.js';
import { AuthenticationController } from './authentication.controller.js';
import type { CredentialSource } from './credentials.js';
import { ForgetTenant } from './forget-tenant.js';
import { grantsArea } from './grants-area.js';
import { GRANTS_BUCKET } from './grants-bucket.js';
import { IssueStatement } from './issue-statement.js';
import { Issuers } from './issuers.js';
import { keysOver } from './keys-port.js';
import { LastUse } from './last-use.js';
import { loginCredentials } from './login-credentials.js';
import { LoginsController } from './logins.controller.js';
import { Logins, type LoginsOptions } from './logins.js';
import { accessBucket } from './projected-buckets.js';
import type { Runtime } from './runtime.js';
import { groupsOfLastLogin, StandingLogins } from './standing-logins.js';
import { StatementsController } from './statements.controller.js';
import { publishRevocations } from './publish-revocations.js';
import { tendLogins } from './tend-logins.js';
import { quotasOver } from './tenant-quotas.js';
import { TenantsController } from './tenants.controller.js';

export interface AccessOptions {
  readonly logins: LoginsOptions;
  /** Tells which clusters there are, and leads to `keys`. */
  readonly nats: NatsConnection;
}

export interface StartedAccess extends AsyncDisposable {
  /** What answers its contract. */
  readonly module: DynamicModule;
  /** What it is the only writer of. */
  readonly buckets: readonly ProjectedBucket[];
  /** The same of one that is too large to be made anew at each change. */
  readonly keyedBucket: KeyedBucket;
}

/** Controllers that answer a part of the contract, and what they need. */
interface Area {
  readonly controllers: NonNullable<DynamicModule['controllers']>;
  readonly parts: readonly object[];
}

@Module({})
class AccessModule {}

/** The parts of the service, and the loops that run beside them. */
export function startAccess(runtime: Runtime, { nats, logins }: AccessOptions): StartedAccess {
  const owned = new AsyncDisposableStack();
  const lastUse = owned.use(new LastUse(runtime));
  const apiTokens = apiTokenCredentials(({ tokenId }, now) => lastUse.note(tokenId, now));
  const sources: readonly CredentialSource[] = [apiTokens, loginCredentials];
  const standing = new StandingLogins(runtime);
  owned.use(tendLogins(runtime, standing));
  const client = createRpcClient(nats, runtime.source);
  const quotasOf = quotasOver(client);
  const grants = owned.use(grantsArea(runtime, nats, groupsOfLastLogin, quotasOf));
  const authentication = new Authentication(runtime, { sources, apiRolesOf });
  const keys = keysOver(client);
  owned.use(publishRevocations(runtime, keys, grants.clusters));
  const statements = new IssueStatement(runtime, { authentication, clusters: grants.clusters, keys });
  const areas: readonly Area[] = [
    { controllers: [AuthenticationController], parts: [authentication] },
    { controllers: [StatementsController], parts: [statements] },
    { controllers: [ApiTokensController], parts: [new ApiTokens(runtime, quotasOf)] },
    { controllers: [TenantsController], parts: [new ForgetTenant(runtime)] },
    grants,
    { controllers: [LoginsController], parts: [new Issuers(runtime), new Logins(runtime, logins), standing] },
  ];
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
