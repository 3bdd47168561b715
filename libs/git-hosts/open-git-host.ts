import type { Clock } from '@fairlead/clock';
import { FairleadError, assertNever } from '@fairlead/errors';
import { ApiGitHost } from './drivers/api-git-host.js';
import { giteaApi, giteaApiBase, giteaHeaders } from './drivers/gitea.js';
import { githubApi, githubApiBase, githubHeaders } from './drivers/github.js';
import { gitlabApi, gitlabApiBase, gitlabHeaders } from './drivers/gitlab.js';
import type { HostApi } from './drivers/host-api.js';
import { manualGitHost } from './drivers/manual.js';
import type { GitHost } from './git-host.js';
import { GitHttp } from './http/git-http.js';
import { DEFAULT_LIMITS, type Limits } from './limits.js';
import { Ownership } from './ownership.js';

interface Common {
  /** Names this installation in the titles of its keys; see `Ownership`. */
  readonly installation: string;
}

export interface ApiHostOptions extends Common {
  readonly kind: 'github' | 'gitlab' | 'gitea';
  /** Of the host as people open it, `https://github.com`; a path is kept (GitLab under a relative URL). */
  readonly url: string;
  readonly token: string;
  /** PEM of a private authority: then only it is trusted, not the system's. */
  readonly caPem?: string | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly clock?: Clock | undefined;
  /** In [0, 1); for tests. */
  readonly random?: (() => number) | undefined;
}

export interface ManualHostOptions extends Common {
  readonly kind: 'manual';
}

const APIS: Readonly<Record<ApiHostOptions['kind'], ApiOfKind>> = {
  github: { base: githubApiBase, headers: githubHeaders, api: githubApi },
  gitlab: { base: gitlabApiBase, headers: gitlabHeaders, api: gitlabApi },
  gitea: { base: giteaApiBase, headers: giteaHeaders, api: giteaApi },
};

interface ApiOfKind {
  readonly base: (host: URL) => URL;
  readonly headers: (token: string) => Record<string, string>;
  readonly api: (http: GitHttp, limits: Limits) => HostApi;
}

/**
 * The driver of a Git host. Nothing is sent before the first call; dispose of it when done. Throws INVALID_ARGUMENT for a URL
 * that is not https, has credentials or a query, or for a token that no header can carry.
 */
export function openGitHost(options: ApiHostOptions | ManualHostOptions): GitHost {
  const ownership = new Ownership(options.installation);
  switch (options.kind) {
    case 'manual':
      return manualGitHost(ownership);
    case 'github':
    case 'gitlab':
    case 'gitea': {
      const { kind, token, caPem, clock, random } = options;
      const limits = { ...DEFAULT_LIMITS, ...options.limits };
      const { base, headers, api } = APIS[kind];
      const apiBase = base(readHostUrl(options.url));
      checkToken(token);
      const http = new GitHttp({ apiBase, headers: headers(token), secrets: [token], caPem, limits, clock, random });
      return new ApiGitHost({ api: api(http, limits), http, ownership, limits });
    }
    default:
      return assertNever(options);
  }
}

function readHostUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url?.protocol !== 'https:' || !plain)
    throw new FairleadError(
      'INVALID_ARGUMENT',
      "a Git host's URL begins with https:// and has no credentials or query",
    );
  return url;
}

function checkToken(token: string): void {
  if (!/^[\x21-\x7e]{8,1000}$/.test(token))
    throw new FairleadError('INVALID_ARGUMENT', 'a token is 8–1000 printable ASCII characters without spaces');
}
