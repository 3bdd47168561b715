import type { Clock } from '@fairlead/clock';
import type { RpcClient } from '@fairlead/messaging';
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AddressLimiter } from './auth/address-limiter.js';
import { AuthGuard } from './auth/auth-guard.js';
import { LoginAttempts } from './auth/login-attempts.js';
import { Authenticator } from './auth/authenticator.js';
import { Backend } from './feature/backend.js';
import { AccessController } from './feature/access.controller.js';
import { ApprovalController } from './feature/approval.controller.js';
import { Admission } from './auth/admission.js';
import { AuditController } from './feature/audit.controller.js';
import { AuditStreamsController } from './feature/audit-streams.controller.js';
import { CaController } from './feature/ca.controller.js';
import { CatalogController } from './feature/catalog.controller.js';
import { ClientsController } from './feature/clients.controller.js';
import { ClustersController } from './feature/clusters.controller.js';
import { CredentialRate } from './auth/credential-rate.js';
import { CredentialsController } from './feature/credentials.controller.js';
import { EndpointsController } from './feature/endpoints.controller.js';
import { GitHostsController } from './feature/git-hosts.controller.js';
import { GitOpsController } from './feature/gitops.controller.js';
import { GrantsController } from './feature/grants.controller.js';
import { ImportController } from './feature/import.controller.js';
import { LoginsController } from './feature/logins.controller.js';
import { MetaController } from './feature/meta.controller.js';
import { ServingRoot } from './feature/serving-root.js';
import { AuditLogController } from './feature/audit-log.controller.js';
import { SubscribersController } from './feature/subscribers.controller.js';
import { WebhooksController } from './feature/webhooks.controller.js';
import { SessionsController } from './feature/sessions.controller.js';
import { TenantsController } from './feature/tenants.controller.js';
import { ApiSettings } from './feature/settings.js';
import { OpenStreams } from './streams/open-streams.js';
import { StreamPace, type StreamPaceOptions } from './streams/stream-pace.js';
import { VisibleClusters } from './feature/visible-clusters.js';

/** Ten wrong tokens at once, then one every five seconds. */
const FAILURES = { burst: 10, perSecond: 0.2 };
const IMPORTS = { burst: 60, perSecond: 1 };
/** A thousand people behind one address renew every few minutes, all of them. */
const LOGINS = { burst: 120, perSecond: 5 };

export interface ApiModuleOptions {
  readonly client: RpcClient;
  readonly settings: ApiSettings;
  readonly clock: Clock;
  /** Of streams of the audit log. */
  readonly pace?: StreamPaceOptions;
}

@Module({})
export class ApiModule {
  static with({ client, settings, clock, pace }: ApiModuleOptions): DynamicModule {
    const backend = new Backend(client);
    const nowMs = (): number => clock.monotonicMs();
    const failures = new AddressLimiter(FAILURES, nowMs);
    return {
      module: ApiModule,
      controllers: [
        ClustersController,
        CaController,
        CredentialsController,
        EndpointsController,
        ApprovalController,
        GrantsController,
        AccessController,
        ClientsController,
        GitHostsController,
        CatalogController,
        GitOpsController,
        ImportController,
        LoginsController,
        AuditLogController,
        SessionsController,
        AuditController,
        AuditStreamsController,
        SubscribersController,
        WebhooksController,
        TenantsController,
        MetaController,
      ],
      providers: [
        { provide: APP_GUARD, useClass: AuthGuard },
        Admission,
        OpenStreams,
        { provide: StreamPace, useValue: new StreamPace(backend, clock, pace) },
        { provide: ApiSettings, useValue: settings },
        { provide: Backend, useValue: backend },
        { provide: VisibleClusters, useValue: new VisibleClusters(backend) },
        { provide: ServingRoot, useValue: new ServingRoot(backend, nowMs) },
        { provide: Authenticator, useValue: new Authenticator(backend, failures, clock) },
        { provide: AddressLimiter, useValue: new AddressLimiter(IMPORTS, nowMs) },
        { provide: CredentialRate, useValue: new CredentialRate(nowMs) },
        { provide: LoginAttempts, useValue: new LoginAttempts(LOGINS, nowMs) },
      ],
    };
  }
}
