import type { Command } from 'commander';
import type { Io } from '../io.js';
import { printJson, printLines, type Format } from '../output/print.js';
import { VERSION } from '../version.js';
import { addAccessCommands } from './access.js';
import { addAuditCommands } from './audit.js';
import { addApiTokenCommands } from './api-token.js';
import { addBundleCommands } from './bundle.js';
import { addCaCommands } from './ca.js';
import { addCatalogCommands } from './catalog.js';
import { addClientCommands } from './client.js';
import { addClusterCommands } from './cluster.js';
import { addCompletionCommand } from './completion.js';
import { addCredentialCommand } from './credential.js';
import { addDoctorCommand } from './doctor.js';
import { addEndpointCommands } from './endpoints.js';
import { addGitHostCommands } from './git-host.js';
import { addGitOpsCommands } from './gitops.js';
import { addGrantCommands } from './grant.js';
import { addIdentityCommands } from './identity.js';
import { addIssuerCommands } from './issuer.js';
import { addKubeCommands } from './kubeconfig.js';
import { addPolicyCommands } from './policy.js';
import { addRequestCommands } from './request.js';
import { addCertificateCommands } from './revocation.js';
import { addRolloutCommands } from './rollout.js';
import { addSessionCommands } from './login.js';
import { addSessionsCommands } from './session.js';
import { addSubscriberCommands } from './subscriber.js';
import { addTenantCommands } from './tenant.js';
import { addTokenCommands } from './token.js';
import { addUserCommands } from './user.js';
import { outputOption } from './option-values.js';

/** Every command there is, in the order of the help. */
export function addAllCommands(program: Command, io: Io): void {
  addSessionCommands(program, io);
  addClusterCommands(program, io);
  addGrantCommands(program, io);
  addAccessCommands(program, io);
  addSessionsCommands(program, io);
  addAuditCommands(program, io);
  addSubscriberCommands(program, io);
  addApiTokenCommands(program, io);
  addIssuerCommands(program, io);
  addUserCommands(program, io);
  addClientCommands(program, io);
  addRequestCommands(program, io);
  addPolicyCommands(program, io);
  addCertificateCommands(program, io);
  addCaCommands(program, io);
  addEndpointCommands(program, io);
  addTenantCommands(program, io);
  addTokenCommands(program, io);
  addIdentityCommands(program, io);
  addGitHostCommands(program, io);
  addCatalogCommands(program, io);
  addBundleCommands(program, io);
  addGitOpsCommands(program, io);
  addRolloutCommands(program, io);
  addKubeCommands(program, io);
  addCredentialCommand(program, io);
  addDoctorCommand(program, io);
  addCompletionCommand(program, io);
  program
    .command('version')
    .summary('print the version')
    .description('Print the version of this command.')
    .addOption(outputOption('table', 'json'))
    .action(({ output }: { output: Format }) => {
      if (output === 'json') printJson(io, { version: VERSION, node: process.version });
      else printLines(io, `fairlead ${VERSION}`);
    });
}
