import { Command, CommanderError } from 'commander';
import { describeFailure } from './failure.js';
import type { Io } from './io.js';

const HELP = `
A first tour:
  fairlead login --server https://127.0.0.1:7070 --ca-file root.pem
  fairlead cluster create demo
  fairlead cluster import demo | kubectl apply -f -
  fairlead kubeconfig demo --output demo.kubeconfig
  kubectl --kubeconfig demo.kubeconfig get namespaces

Every command has its own --help. Where the login is kept: $FAIRLEAD_HOME, else ~/.config/fairlead. Without --tenant,
$FAIRLEAD_TENANT says which tenant a command is about.`;

/** The same as `run`, of any command. */
export async function runProgram(args: readonly string[], io: Io): Promise<number> {
  const program = await buildProgram(io);
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

async function buildProgram(io: Io): Promise<Command> {
  const config = { ...io.config };
  const program = new Command('fairlead')
    .description('Reach clusters that nobody can reach: register them, import them, talk to them.')
    .option('--tenant <name>', 'the tenant that the command is about; default: that of whoever is logged in')
    .on('option:tenant', (tenant: string) => void Object.assign(config, { tenant }))
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
    })
    .showSuggestionAfterError();
  (await import('./commands/all-commands.js')).addAllCommands(program, { ...io, config });
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
