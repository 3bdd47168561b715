import { Module, type DynamicModule } from '@nestjs/common';
import { StatementRevocationLists } from './statement-revocation-lists.js';
import { AuditCheckpoints } from './audit-checkpoints.js';
import { AccessStatementSigner } from './access-statement-signer.js';
import { CertificateIssuer } from './certificate-issuer.js';
import { DeployKeys } from './git/deploy-keys.js';
import { DesiredStateSigner } from './git/desired-state-signer.js';
import { GitHosts } from './git/git-hosts.js';
import { GitKeysController } from './git/git-keys.controller.js';
import type { GitKeys } from './git/git-keys.js';
import { HostKeys } from './git/host-keys.js';
import { Repositories } from './git/repositories.js';
import { LinkEndpoints } from './link-endpoints.js';
import { KeysController } from './keys.controller.js';
import { Revocations } from './revocations.js';
import { Rotation } from './rotation.js';
import { WebhookSecrets } from './webhook-secrets.js';
import { WebhookSecretsController } from './webhook-secrets.controller.js';

export interface KeysParts {
  readonly issuer: CertificateIssuer;
  readonly revocations: Revocations;
  readonly rotation: Rotation;
  readonly endpoints: LinkEndpoints;
  readonly accessStatements: AccessStatementSigner;
  readonly statementRevocations: StatementRevocationLists;
  readonly auditCheckpoints: AuditCheckpoints;
  readonly webhookSecrets: WebhookSecrets;
}

@Module({})
export class KeysModule {
  static around(parts: KeysParts, git: GitKeys): DynamicModule {
    const { issuer, revocations, rotation, endpoints, accessStatements, statementRevocations } = parts;
    return {
      module: KeysModule,
      controllers: [KeysController, GitKeysController, WebhookSecretsController],
      providers: [
        { provide: CertificateIssuer, useValue: issuer },
        { provide: Revocations, useValue: revocations },
        { provide: Rotation, useValue: rotation },
        { provide: LinkEndpoints, useValue: endpoints },
        { provide: AccessStatementSigner, useValue: accessStatements },
        { provide: StatementRevocationLists, useValue: statementRevocations },
        { provide: AuditCheckpoints, useValue: parts.auditCheckpoints },
        { provide: WebhookSecrets, useValue: parts.webhookSecrets },
        { provide: DesiredStateSigner, useValue: git.signer },
        { provide: GitHosts, useValue: git.hosts },
        { provide: HostKeys, useValue: git.hostKeys },
        { provide: DeployKeys, useValue: git.deployKeys },
        { provide: Repositories, useValue: git.repositories },
      ],
    };
  }
}
