import type { Limits } from '@fairlead/git-hosts';
import type { Logger } from '@fairlead/observability';
import { readFrom } from '@fairlead/persistence';
import { installationName } from '../../store/git-host-store.js';
import type { CurrentCa } from '../current-ca.js';
import { DesiredStateSigner } from './desired-state-signer.js';
import { GitHosts, type GitRuntime } from './git-hosts.js';
import { HostAccess } from './host-access.js';
import { HostKeys } from './host-keys.js';

export interface GitKeysOptions extends GitRuntime {
  readonly ca: CurrentCa;
  readonly leafLifeSeconds: number;
  readonly logger: Logger;
  /** What a Git host may cost us. */
  readonly limits?: Partial<Limits>;
}

/** What the service does about Git. */
export interface GitKeys {
  readonly signer: DesiredStateSigner;
  readonly hosts: GitHosts;
  readonly hostKeys: HostKeys;
}

/** UNAVAILABLE while the database is away. */
export async function openGitKeys(options: GitKeysOptions): Promise<GitKeys> {
  const { database, ca, leafLifeSeconds, limits, logger } = options;
  const installation = await readFrom(database, installationName);
  const access = new HostAccess({ sealer: ca.sealer, installation, limits });
  return {
    signer: new DesiredStateSigner(database, ca, leafLifeSeconds),
    hosts: new GitHosts(options, access),
    hostKeys: new HostKeys(options, logger),
  };
}
