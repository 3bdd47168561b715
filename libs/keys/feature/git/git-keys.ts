import type { Limits } from '@fairlead/git-hosts';
import type { Logger } from '@fairlead/observability';
import { readFrom } from '@fairlead/persistence';
import { installationName } from '../../store/git-host-store.js';
import type { BelongsTo } from '../cluster-watch.js';
import type { CurrentCa } from '../current-ca.js';
import { DeployKeyLoop } from './deploy-key-loop.js';
import { DeployKeyRun } from './deploy-key-run.js';
import { DeployKeys } from './deploy-keys.js';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts, type GitRuntime } from './git-hosts.js';
import { HostAccess } from './host-access.js';
import { HostKeys } from './host-keys.js';
import { HostProblems } from './host-problem.js';
import { KeyJournal } from './key-journal.js';
import { Repositories } from './repositories.js';

export interface GitKeysOptions extends Omit<GitRuntime, 'now'> {
  /** Default: the system's. */
  readonly now?: () => Date;
  readonly ca: CurrentCa;
  readonly leafLifeSeconds: number;
  /** Whose clusters desired states are signed for. */
  readonly belongs: BelongsTo;
  readonly logger: Logger;
  /** How often, at most, a repository's deploy keys are looked at. */
  readonly deployKeysEveryMs: number;
  /** What a Git host may cost us. */
  readonly limits?: Partial<Limits>;
}

/** Of one host, for looking at the deploy keys of all of its repositories: well below what hosts allow (GitHub: 5,000 an hour). */
const MS_A_REQUEST = 1_000;

/** What the service does about Git. */
export interface GitKeys {
  readonly signer: DesiredStateSigner;
  readonly hosts: GitHosts;
  readonly hostKeys: HostKeys;
  readonly deployKeys: DeployKeys;
  readonly repositories: Repositories;
  /** To be disposed of: works on the deploy keys that are desired. */
  startLoop(): DeployKeyLoop;
}

/** UNAVAILABLE while the database is away. */
export async function openGitKeys(options: GitKeysOptions): Promise<GitKeys> {
  const { database, ca, leafLifeSeconds, belongs, limits, logger, deployKeysEveryMs: everyMs } = options;
  const installation = await readFrom(database, installationName);
  const access = new HostAccess({ sealer: ca.sealer, installation, limits });
  const runtime: GitRuntime = { ...options, now: options.now ?? (() => new Date()) };
  const problems = new HostProblems(runtime, logger);
  let loop: DeployKeyLoop | undefined;
  const waking: GitRuntime = {
    ...runtime,
    onCommitted: () => {
      options.onCommitted();
      loop?.poke();
    },
  };
  const pace = { everyMs, paceMs: MS_A_REQUEST };
  const keys = new DeployKeyRun({ runtime, access, problems, journal: new KeyJournal(runtime), pace });
  return {
    signer: new DesiredStateSigner({ database, ca, belongs, leafLifeSeconds }),
    hosts: new GitHosts(waking, access),
    hostKeys: new HostKeys(runtime, logger),
    deployKeys: new DeployKeys(waking),
    repositories: new Repositories(runtime, access, problems),
    startLoop: () => (loop = new DeployKeyLoop({ database, keys, logger, everyMs })),
  };
}
