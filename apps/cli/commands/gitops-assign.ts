import { Option, type Command } from 'commander';
import { usage } from '../failure.js';
import { repositoryAdvice } from '../gitops/advice.js';
import { bodyOf, bundleVersion, changeAssignment, checkRepository, findAssignment } from '../gitops/assignments.js';
import { verificationFrom } from '../gitops/verification.js';
import type { Io } from '../io.js';
import { selectorText } from '../output/gitops-view.js';
import { printHint, printJson, printLines, type Format } from '../output/print.js';
import type { Assignment } from '../session/gitops-answers.js';
import { TOOLS, collected, durationSeconds, outputOption, pairs, wholeNumber } from './option-values.js';
import { withApi } from './with-api.js';

const ASSIGN_HELP = `
It makes an assignment, or changes one: what is not said stays as it is, or is the default of a new one. A change reaches its clusters in
waves: fairlead rollout list. Several assignments may select a cluster; the one with the highest priority counts, then the more exact.

Examples:
  fairlead gitops assign shop --label stage=prod --repo catalog --bundle v2.7.3
  fairlead gitops assign shop --bundle v2.8.0 --wave 1 --wave 20% --on-failure pause     # another version, carefully
  fairlead gitops assign edge --cluster edge-7 --repo catalog --path 'edge/{cluster}'
  fairlead gitops assign shop --verify-gpg alice.asc --verify-gpg bob.asc                # only commits that they signed`;

interface AssignOptions {
  readonly cluster?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly tool?: string;
  readonly bundle?: string;
  readonly repo?: string;
  readonly branch?: string;
  readonly gitThrough?: string | false;
  readonly path?: string;
  readonly interval?: number;
  readonly prune?: string;
  readonly selfHeal?: string;
  readonly verifySsh?: readonly string[];
  readonly verifyGpg?: readonly string[];
  readonly verify?: boolean;
  readonly rewrite?: Readonly<Record<string, string>>;
  readonly pullSecret?: string;
  readonly wave?: readonly string[];
  readonly soak?: number;
  readonly timeout?: number;
  readonly maxFailed?: number;
  readonly onFailure?: string;
  readonly output: Format;
}

/** gitops assign. */
export function addAssignCommand(gitops: Command, io: Io): void {
  const assign = gitops
    .command('assign <name>')
    .summary('say what clusters are to run')
    .description('Say which tool a cluster, or all with certain labels, are to run, and which repository they follow.')
    .addOption(new Option('--cluster <name>', 'this one cluster').conflicts('label'))
    .addOption(new Option('--label <key=value>', 'all clusters with this label; may be repeated').argParser(pairs))
    .option('--priority <n>', 'which of several counts, the highest; 100 unless given', wholeNumber)
    .addOption(new Option('--tool <tool>', 'flux unless given').choices(TOOLS))
    .option('--bundle <version>', 'of fairlead bundle list; the one imported last unless given')
    .option('--repo <name>', 'of fairlead catalog list; without any, the tool is installed and follows nothing')
    .option('--branch <branch>', 'the default branch unless given')
    .option(
      '--git-through <host:port>',
      'where the clusters dial the Git host: its name with another port, or a Service of theirs',
    )
    .option('--no-git-through', 'they dial it at its own address')
    .option('--path <path>', 'may hold {cluster}; clusters/{cluster} unless given')
    .option('--interval <duration>', 'how often it fetches; 60s unless given', durationSeconds)
    .addOption(
      new Option('--prune <yes-or-no>', 'delete what vanishes from the repository; yes unless given').choices([
        'yes',
        'no',
      ]),
    )
    .addOption(new Option('--self-heal <mode>', 'enforce unless given').choices(['enforce', 'observe', 'off']));
  addCarefulOptions(assign)
    .addOption(outputOption('table', 'json'))
    .addHelpText('after', ASSIGN_HELP)
    .action((name: string, options: AssignOptions) => assignTo(io, name, options));
}

function addCarefulOptions(assign: Command): Command {
  return assign
    .addOption(
      new Option(
        '--verify-ssh <file>',
        'likewise by this SSH key; refused as yet: Flux and Argo CD verify OpenPGP only',
      ).argParser(collected),
    )
    .addOption(
      new Option('--verify-gpg <file>', 'only commits signed by this OpenPGP key count; may be repeated').argParser(
        collected,
      ),
    )
    .option('--no-verify', 'any commit counts')
    .addOption(new Option('--rewrite <from=to>', 'pull images from elsewhere; may be repeated').argParser(pairs))
    .option('--pull-secret <name>', 'a Secret in the namespace of the tool to pull images with')
    .addOption(
      new Option('--wave <size>', 'a number of clusters, or a share like 10%; may be repeated').argParser(collected),
    )
    .option('--soak <duration>', 'how long a wave has to be healthy; 60s unless given', durationSeconds)
    .option('--timeout <duration>', 'not healthy after so long, a cluster failed; 15m unless given', durationSeconds)
    .option('--max-failed <n>', 'so many failed clusters in a wave are borne; 0 unless given', wholeNumber)
    .addOption(new Option('--on-failure <what>', 'roll-back unless given').choices(['pause', 'roll-back']));
}

async function assignTo(io: Io, name: string, options: AssignOptions): Promise<void> {
  const { made, before, advice } = await withApi(io, async (api) => {
    const known = await findAssignment(api, name);
    const body = await settle(known, options);
    const tool = options.tool ?? known?.tool ?? 'flux';
    const needsBundle = options.bundle !== undefined || tool !== known?.tool;
    const version = needsBundle ? await bundleVersion(api, tool, options.bundle) : known.bundleVersion;
    if (options.repo !== undefined) await checkRepository(api, options.repo);
    const assignment = await changeAssignment(api, name, known, { ...body, tool, bundleVersion: version });
    return { made: assignment, before: known, advice: await repositoryAdvice(api, assignment.repository) };
  });
  if (options.output === 'json') return printJson(io, made);
  const clusters = `${'cluster' in made.selector ? 'cluster' : 'clusters with'} ${selectorText(made)}`;
  printLines(
    io,
    `assignment ${made.name} ${before ? 'changed' : 'made'}: ${made.tool} ${made.bundleVersion} for ${clusters}`,
  );
  for (const line of advice) printLines(io, line);
  printHint(io, `how far it is: fairlead rollout list, and fairlead gitops status`);
}

/** What is wanted, on top of what there is. */
async function settle(known: Assignment | undefined, options: AssignOptions): Promise<Record<string, unknown>> {
  const { cluster, label, interval, prune, repo, pullSecret, rewrite } = options;
  if (!known && cluster === undefined && label === undefined) {
    throw usage('it is not said which clusters', 'add --cluster NAME, or --label KEY=VALUE');
  }
  const before = known ? bodyOf(known) : { repository: null };
  const images = {
    ...(known?.['images'] as object | undefined),
    ...(rewrite === undefined ? {} : { rewrite: Object.entries(rewrite).map(([from, to]) => ({ from, to })) }),
    ...(pullSecret === undefined ? {} : { pullSecret }),
  };
  const verification = await verificationFrom(options);
  return {
    ...before,
    ...(cluster === undefined ? {} : { selector: { cluster } }),
    ...(label === undefined ? {} : { selector: { labels: label } }),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.branch === undefined ? {} : { branch: options.branch }),
    ...(options.gitThrough === undefined ? {} : { gitThrough: options.gitThrough || undefined }),
    ...(options.path === undefined ? {} : { path: options.path }),
    ...(options.selfHeal === undefined ? {} : { selfHeal: options.selfHeal }),
    ...(repo === undefined ? {} : { repository: repo }),
    ...(interval === undefined ? {} : { intervalSeconds: interval }),
    ...(prune === undefined ? {} : { prune: prune === 'yes' }),
    ...(verification === undefined ? {} : { verification }),
    images,
    rollout: { ...known?.rollout, ...rolloutFrom(options) },
  };
}

function rolloutFrom({ wave, soak, timeout, maxFailed, onFailure }: AssignOptions): object {
  return {
    ...(wave === undefined ? {} : { waves: wave.map((size) => (size.endsWith('%') ? size : wholeNumber(size))) }),
    ...(soak === undefined ? {} : { soakSeconds: soak }),
    ...(timeout === undefined ? {} : { timeoutSeconds: timeout }),
    ...(maxFailed === undefined ? {} : { maxFailed }),
    ...(onFailure === undefined ? {} : { onFailure }),
  };
}
