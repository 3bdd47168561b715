import { Argument, type Command } from 'commander';
import type { Io } from '../io.js';

const COMPLETION_HELP = `
Examples:
  bash: echo 'source <(fairlead completion bash)' >> ~/.bashrc
  zsh:  echo 'source <(fairlead completion zsh)' >> ~/.zshrc
  fish: fairlead completion fish > ~/.config/fish/completions/fairlead.fish`;

/** completion. */
export function addCompletionCommand(program: Command, io: Io): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', COMPLETION_HELP)
    .action((shell: string) => {
      const nodes = describe(program, '');
      io.stdout.write(shell === 'fish' ? fishScript(nodes) : bashScript(nodes, shell === 'zsh'));
    });
}

/** A command as completion sees it. */
interface Node {
  /** `cluster create`; empty for the program itself. */
  readonly path: string;
  readonly summary: string;
  readonly commands: readonly string[];
  readonly options: readonly string[];
  /** The command that lists what its argument may be. */
  readonly lister: string | undefined;
  readonly choices: readonly string[];
}

const CLUSTERS = 'fairlead cluster list -o name';
const LISTERS: Readonly<Record<string, string>> = {
  'cluster show': CLUSTERS,
  'cluster delete': CLUSTERS,
  'cluster import': CLUSTERS,
  'cluster update': CLUSTERS,
  'cluster label': CLUSTERS,
  'cluster revoke': CLUSTERS,
  'certificate list': CLUSTERS,
  'token list': CLUSTERS,
  'token revoke': CLUSTERS,
  'identity issue': CLUSTERS,
  'request approve': 'fairlead request list -o name',
  'request reject': 'fairlead request list -o name',
  kubeconfig: CLUSTERS,
  doctor: CLUSTERS,
  'client delete': 'fairlead client list -o name',
  ...listedBy('fairlead grant list -o name', 'grant', ['show', 'delete']),
  ...listedBy('fairlead access requests -o name', 'access', ['approve', 'reject']),
  ...listedBy(CLUSTERS, 'access', ['lockdown', 'unlock']),
  'api-token revoke': 'fairlead api-token list -o name',
  'issuer remove': 'fairlead issuer list -o name',
  ...listedBy('fairlead git-host list -o name', 'git-host', ['show', 'scan', 'approve', 'rm']),
  ...listedBy('fairlead catalog list -o name', 'catalog', ['rm']),
  ...listedBy('fairlead bundle list -o name', 'bundle', ['rm']),
  ...listedBy('fairlead gitops list -o name', 'gitops', ['assign', 'show', 'unassign', 'suspend', 'resume']),
  ...listedBy(CLUSTERS, 'gitops', ['status', 'events', 'rotate-key']),
  ...listedBy('fairlead rollout list -o name', 'rollout', ['pause', 'resume', 'abort', 'roll-back']),
};

function listedBy(lister: string, group: string, commands: readonly string[]): Record<string, string> {
  return Object.fromEntries(commands.map((command) => [`${group} ${command}`, lister]));
}

function describe(command: Command, path: string): Node[] {
  const children = command.commands.map((child) => ({ child, childPath: `${path} ${child.name()}`.trim() }));
  const node: Node = {
    path,
    summary: command.summary() || command.description(),
    commands: children.map(({ child }) => child.name()),
    options: [...command.options.flatMap((option) => option.long ?? []), '--help'],
    lister: LISTERS[path],
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
  };
  return [node, ...children.flatMap(({ child, childPath }) => describe(child, childPath))];
}

function bashScript(nodes: readonly Node[], zsh: boolean): string {
  const cases = nodes.map((node) => {
    const words = [...node.commands, ...node.choices].join(' ');
    const existing = node.lister === undefined ? '' : ` $(${node.lister} 2>/dev/null)`;
    return `    '${node.path}') words="${words}${existing}"; options="${node.options.join(' ')}" ;;`;
  });
  const known = nodes.map((node) => `'${node.path}'`).filter((path) => path !== "''");
  return `${zsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_fairlead() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word candidate words="" options=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    candidate="\${path:+$path }$word"
    case "$candidate" in ${known.join('|')}) path="$candidate" ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  if [[ "$current" == -* ]]; then words="$options"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _fairlead fairlead
`;
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap((node) => {
    const when = fishCondition(node, nodes);
    const children = nodes.filter((child) => parentOf(child.path) === node.path && child.path !== '');
    return [
      ...children.map((child) => fishLine(when, `-a ${lastWord(child.path)} -d ${quote(child.summary)}`)),
      ...node.choices.map((choice) => fishLine(when, `-a ${choice}`)),
      ...(node.lister === undefined ? [] : [fishLine(when, `-a '(${node.lister} 2>/dev/null)'`)]),
      ...node.options.map((option) => fishLine(when, `-l ${option.slice(2)}`)),
    ];
  });
  return `complete -c fairlead -f\n${lines.join('\n')}\n`;
}

function fishLine(when: string, rest: string): string {
  return `complete -c fairlead -n ${quote(when)} ${rest}`;
}

function fishCondition(node: Node, nodes: readonly Node[]): string {
  const seen = node.path === '' ? [] : node.path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const children = nodes.filter((child) => child.path !== '' && parentOf(child.path) === node.path);
  const notYet = children.map((child) => lastWord(child.path)).join(' ');
  return [...seen, ...(notYet === '' ? [] : [`not __fish_seen_subcommand_from ${notYet}`])].join('; and ') || 'true';
}

function parentOf(path: string): string {
  return path.split(' ').slice(0, -1).join(' ');
}

function lastWord(path: string): string {
  return path.split(' ').at(-1) ?? '';
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`\'`)}'`;
}
