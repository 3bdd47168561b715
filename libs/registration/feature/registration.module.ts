import { Module, type DynamicModule } from '@nestjs/common';
import { ApiTokens } from './api-tokens.js';
import { Clients } from './clients.js';
import { Clusters } from './clusters.js';
import { Enrolments } from './enrolments.js';
import { ImportLinks } from './import-links.js';
import { RegistrationController } from './registration.controller.js';

export interface RegistrationParts {
  readonly clients: Clients;
  readonly clusters: Clusters;
  readonly importLinks: ImportLinks;
  readonly enrolments: Enrolments;
  readonly apiTokens: ApiTokens;
}

@Module({})
export class RegistrationModule {
  static around({ clients, clusters, importLinks, enrolments, apiTokens }: RegistrationParts): DynamicModule {
    return {
      module: RegistrationModule,
      controllers: [RegistrationController],
      providers: [
        { provide: Clients, useValue: clients },
        { provide: Clusters, useValue: clusters },
        { provide: ImportLinks, useValue: importLinks },
        { provide: Enrolments, useValue: enrolments },
        { provide: ApiTokens, useValue: apiTokens },
      ],
    };
  }
}
