import { Command, CommanderError } from 'commander';
import { addAccessCommands } from './commands/access.js';
import { addApiTokenCommands } from './commands/api-token.js';
import { addBundleCommands } from './commands/bundle.js';
import { addCaCommands } from './commands/ca.js';
import { addCatalogCommands } from './commands/catalog.js';
import { addClientCommands } from './commands/client.js';
import { addClusterCommands } from './commands/cluster.js';
import { addCompletionCommand } from './commands/completion.js';
import { addCredentialCommand } from './commands/credential.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addEndpointCommands } from './commands/endpoints.js';
import { addGitHostCommands } from './commands/git-host.js';
import { addGitOpsCommands } from './commands/gitops.js';
import { addGrantCommands } from './commands/grant.js';
import { addIdentityCommands } from './commands/identity.js';
import { addIssuerCommands } from './commands/issuer.js';
import { addKubeCommands } from './commands/kubeconfig.js';
import { addPolicyCommands } from './commands/policy.js';
import { addRequestCommands } from './commands/request.js';
import { addCertificateCommands } from './commands/revocation.js';
import { addRolloutCommands } from './commands/rollout.js';
import { addSessionCommands } from './commands/login.js';
import { addSessionsCommands } from './commands/session.js';
import { addTokenCommands } from './commands/token.js';
import { addUserCommands } from './commands/user.js';
import { describeFailure } from './failure.js';
import type { Io } from './io.js';
import { printJson, printLines, type Format } from './output/print.js';
import { VERSION } from './version.js';
import { outputOption } from './commands/option-values.js';

const HELP = `
A first tour:
  fairlead login --server https://127.0.0.1:7070 --ca-file root.pem
  fairlead cluster create demo
  fairlead cluster import demo | kubectl apply -f -
  fairlead kubeconfig demo --output demo.kubeconfig
  kubectl --kubeconfig demo.kubeconfig get namespaces

Every command has its own --help. Where the login is kept: $FAIRLEAD_HOME, else ~/.config/fairlead.`;

/** Runs one command line (without node and script) and returns the exit status: 0, 1 for a failure, 2 for wrong usage. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = buildProgram(io);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return usageExit(error, program, args, io);
    const { text, exitCode } = describeFailure(error);
    io.stderr.write(text);
    return exitCode;
  }
}

function buildProgram(io: Io): Command {
  const program = new Command('fairlead')
    .description('Reach clusters that nobody can reach: register them, import them, talk to them.')
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .showSuggestionAfterError();
  addSessionCommands(program, io);
  addClusterCommands(program, io);
  addGrantCommands(program, io);
  addAccessCommands(program, io);
  addSessionsCommands(program, io);
  addApiTokenCommands(program, io);
  addIssuerCommands(program, io);
  addUserCommands(program, io);
  addClientCommands(program, io);
  addRequestCommands(program, io);
  addPolicyCommands(program, io);
  addCertificateCommands(program, io);
  addCaCommands(program, io);
  addEndpointCommands(program, io);
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
  return program;
}

function usageExit(error: CommanderError, program: Command, args: readonly string[], io: Io): number {
  if (error.exitCode === 0) return 0;
  if (error.code !== 'commander.help') io.stderr.write(`next: ${commandOf(program, args)} --help\n`);
  return 2;
}

/** As much of a command line as names commands that exist: `fairlead cluster create`. */
function commandOf(program: Command, args: readonly string[]): string {
  const [word, ...rest] = args;
  const child = program.commands.find((each) => each.name() === word || each.aliases().some((alias) => alias === word));
  return child ? `${program.name()} ${commandOf(child, rest)}` : program.name();
}
