import { Module, type DynamicModule } from '@nestjs/common';
import { ApprovalPolicies } from './approval-policies.js';
import { BootstrapTokens } from './bootstrap-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { EnrolmentRequests } from './enrolment-requests.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';
import { LinkProblems } from './link-problems.js';
import { OpenPassages } from './open-passages.js';
import { RegistrationController } from './registration.controller.js';
import { ReportedFacts } from './reported-facts.js';
import { StaticIdentities } from './static-identities.js';
import { Tenants } from './tenants.js';

export interface RegistrationParts {
  readonly clients: Clients;
  readonly clusters: Clusters;
  readonly importLinks: ImportLinks;
  readonly enrolments: Enrolments;
  readonly requests: EnrolmentRequests;
  readonly policies: ApprovalPolicies;
  readonly bootstrapTokens: BootstrapTokens;
  readonly staticIdentities: StaticIdentities;
  readonly linkProblems: LinkProblems;
  readonly facts: ReportedFacts;
  readonly passages: OpenPassages;
  readonly tenants: Tenants;
}

@Module({})
export class RegistrationModule {
  static around(parts: RegistrationParts): DynamicModule {
    return {
      module: RegistrationModule,
      controllers: [RegistrationController],
      providers: Object.values(parts).map((part: object) => ({ provide: part.constructor, useValue: part })),
    };
  }
}
