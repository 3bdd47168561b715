import { Module, type DynamicModule } from '@nestjs/common';
import { Assignments } from './assignments.js';
import { BundleImports } from './bundle-imports.js';
import { BundleUploads } from './bundle-uploads.js';
import { Bundles } from './bundles.js';
import { CatalogController } from './catalog.controller.js';
import { ClusterReports } from './cluster-reports.js';
import { ClusterStatus } from './cluster-status.js';
import { ClustersController } from './clusters.controller.js';
import { FleetBreaker } from './fleet-breaker.js';
import { Repositories } from './repositories.js';
import { Rollouts } from './rollouts.js';
import { RolloutsController } from './rollouts.controller.js';

export interface GitopsParts {
  readonly repositories: Repositories;
  readonly bundles: Bundles;
  readonly uploads: BundleUploads;
  readonly imports: BundleImports;
  readonly assignments: Assignments;
  readonly status: ClusterStatus;
  readonly reports: ClusterReports;
  readonly rollouts: Rollouts;
  readonly breaker: FleetBreaker;
}

@Module({})
export class GitopsModule {
  static around(parts: GitopsParts): DynamicModule {
    return {
      module: GitopsModule,
      controllers: [CatalogController, ClustersController, RolloutsController],
      providers: [
        { provide: Repositories, useValue: parts.repositories },
        { provide: Bundles, useValue: parts.bundles },
        { provide: BundleUploads, useValue: parts.uploads },
        { provide: BundleImports, useValue: parts.imports },
        { provide: Assignments, useValue: parts.assignments },
        { provide: ClusterStatus, useValue: parts.status },
        { provide: ClusterReports, useValue: parts.reports },
        { provide: Rollouts, useValue: parts.rollouts },
        { provide: FleetBreaker, useValue: parts.breaker },
      ],
    };
  }
}
