import { FairleadError } from '@fairlead/errors';
import { openGitHost, type GitHost, type Limits } from '@fairlead/git-hosts';
import { sealedContext } from '../../domain/sealed-context.js';
import type { GitHostSettings } from '../../domain/git-host-settings.js';
import type { StoredGitHost } from '../../store/git-host-store.js';
import type { Sealer } from '../../store/sealer.js';

interface HostAccessOptions {
  readonly sealer: Sealer;
  /** In the titles of our keys. */
  readonly installation: string;
  readonly limits?: Partial<Limits> | undefined;
}

/** The only place where tokens are sealed and opened. */
export class HostAccess {
  readonly #options: HostAccessOptions;

  constructor(options: HostAccessOptions) {
    this.#options = options;
  }

  seal(hostId: string, token: string): Promise<Buffer> {
    return this.#options.sealer.seal(token, sealedContext.gitToken(hostId));
  }

  /** To be disposed of. INVALID_ARGUMENT for a URL or authority that cannot be used, or a token of another master key. */
  async open(host: StoredGitHost): Promise<GitHost> {
    const { id, sealedToken } = host;
    return this.openWith(
      host,
      sealedToken === null ? null : await this.#options.sealer.unseal(sealedToken, sealedContext.gitToken(id)),
    );
  }

  /** The same with a token that is not held yet. */
  openWith({ kind, url, caPem }: GitHostSettings, token: string | null): GitHost {
    const { installation, limits } = this.#options;
    if (kind === 'manual') return openGitHost({ kind, installation });
    if (url === null || token === null)
      throw new FairleadError('INTERNAL', 'a Git host with an API has no URL or token');
    return openGitHost({ kind, url, token, installation, limits, ...(caPem === null ? {} : { caPem }) });
  }
}
