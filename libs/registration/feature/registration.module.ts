import { Module, type DynamicModule } from '@nestjs/common';
import { ApiTokens } from './api-tokens.js';
import { ApprovalPolicies } from './approval-policies.js';
import { BootstrapTokens } from './bootstrap-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { EnrolmentRequests } from './enrolment-requests.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';
import { LinkProblems } from './link-problems.js';
import { ApprovalController } from './approval.controller.js';
import { CredentialsController } from './credentials.controller.js';
import { RegistrationController } from './registration.controller.js';
import { ReportedFacts } from './reported-facts.js';
import { ReportsController } from './reports.controller.js';
import { StaticIdentities } from './static-identities.js';

export interface RegistrationParts {
  readonly clients: Clients;
  readonly clusters: Clusters;
  readonly importLinks: ImportLinks;
  readonly enrolments: Enrolments;
  readonly apiTokens: ApiTokens;
  readonly requests: EnrolmentRequests;
  readonly policies: ApprovalPolicies;
  readonly bootstrapTokens: BootstrapTokens;
  readonly staticIdentities: StaticIdentities;
  readonly troubles: LinkProblems;
  readonly facts: ReportedFacts;
}

@Module({})
export class RegistrationModule {
  static around(parts: RegistrationParts): DynamicModule {
    return {
      module: RegistrationModule,
      controllers: [RegistrationController, ApprovalController, CredentialsController, ReportsController],
      providers: [
        { provide: Clients, useValue: parts.clients },
        { provide: Clusters, useValue: parts.clusters },
        { provide: ImportLinks, useValue: parts.importLinks },
        { provide: Enrolments, useValue: parts.enrolments },
        { provide: ApiTokens, useValue: parts.apiTokens },
        { provide: EnrolmentRequests, useValue: parts.requests },
        { provide: ApprovalPolicies, useValue: parts.policies },
        { provide: BootstrapTokens, useValue: parts.bootstrapTokens },
        { provide: StaticIdentities, useValue: parts.staticIdentities },
        { provide: LinkProblems, useValue: parts.troubles },
        { provide: ReportedFacts, useValue: parts.facts },
      ],
    };
  }
}
