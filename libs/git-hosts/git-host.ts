import type { RepositoryPath } from './repository-path.js';

/** Forgejo answers the same API as Gitea, and is `gitea` here. */
export type GitHostKind = 'github' | 'gitlab' | 'gitea' | 'manual';

export interface Call {
  /** Ends the call; it has a deadline of its own as well (see `Limits`). */
  readonly signal?: AbortSignal | undefined;
}

/** What somebody has to do by hand, because no API is used: to be shown as it is. */
export interface ByHand {
  readonly state: 'by-hand';
  readonly title: string;
  /** `ssh-ed25519 AAAA…`. */
  readonly publicKey: string;
  readonly instructions: string;
}

export interface Repository {
  readonly path: RepositoryPath;
  /** Of the host, which stays when the repository is renamed. */
  readonly id: string;
  /** As the host gives it, checked to be one: `git@host:path` or `ssh://…`. */
  readonly sshUrl: string;
  /** Null in a repository without commits, on some hosts. */
  readonly defaultBranch: string | null;
  readonly visibility: 'private' | 'internal' | 'public';
  readonly archived: boolean;
}

export interface DeployKey {
  /** Of the host; decimal. */
  readonly id: string;
  readonly title: string;
  /** Type and base64, without a comment. */
  readonly publicKey: string;
  /** `SHA256:…` as ssh-keygen shows it, computed here; null for what is not an SSH public key. */
  readonly fingerprint: string | null;
  readonly readOnly: boolean;
  /** False: it is there and does not work, since an organisation forbids deploy keys (GitHub) or it expired (GitLab). */
  readonly enabled: boolean;
  /** Its title says that this installation added it. Not yet enough to remove it: see `removeDeployKey`. */
  readonly ours: boolean;
}

/** What a caller recorded about a key when it was added. */
export interface RecordedKey {
  readonly id: string;
  readonly fingerprint: string;
}

export interface NewDeployKey {
  /** Whose it is, for example the cluster's name: 1–100 letters, digits, `.`, `_`, `-` or `/`. */
  readonly label: string;
  /** Of type ssh-ed25519. */
  readonly publicKey: string;
}

/** What a token may do, or may not, in the words of its host. */
export interface RightFinding {
  /**
   * `granted`: proved. `missing`: needed and not there. `too-wide`: there and not needed. `unverified`: the host does not tell,
   * and it cannot be proved without using it.
   */
  readonly verdict: 'granted' | 'missing' | 'too-wide' | 'unverified';
  /** The scope, permission or role, as the host calls it. */
  readonly right: string;
  /** What it is for, or why it is too much. */
  readonly why: string;
}

export interface RightsReport {
  /** Who the token acts as; null where the host does not say. */
  readonly account: string | null;
  /** Null: never, or the host does not say. */
  readonly expiresAt: Date | null;
  readonly findings: readonly RightFinding[];
}

export interface RightsSpec {
  /** The repository whose deploy keys are to be kept; it has to exist. */
  readonly repository?: RepositoryPath | undefined;
  /** Are repositories to be created too? */
  readonly createRepositories: boolean;
}

/** `unknown`: no API is used (manual). */
export type Unknown = { readonly state: 'unknown' };

/**
 * A Git host as Fairlead needs it. Every call has a deadline, reads a bounded answer, and throws FairleadError:
 *
 * - GIT_TOKEN_REFUSED: the host does not know the token (any more);
 * - GIT_RIGHTS_MISSING: it knows it, and does not allow this; `details` has what the host says is needed;
 * - RATE_LIMITED: `details.retryAt` (ISO 8601) and `details.retryAfterSeconds`; until then nothing is sent;
 * - NOT_FOUND: no such repository, or the token may not see it, which hosts do not tell apart;
 * - UNAVAILABLE, DEADLINE_EXCEEDED: the host is away or slow; every call may simply be made again;
 * - UNTRUSTED_PEER: its certificate is not one of the authority that was configured;
 * - PROTOCOL_ERROR: it answered what is not its API.
 */
export interface GitHost extends AsyncDisposable {
  readonly kind: GitHostKind;

  /** Can the token do what it is to do, and how much more can it do? Changes nothing. */
  checkRights(spec: RightsSpec, call?: Call): Promise<RightsReport>;

  findRepository(
    path: RepositoryPath,
    call?: Call,
  ): Promise<{ readonly state: 'found'; readonly repository: Repository } | { readonly state: 'absent' } | Unknown>;

  /**
   * Makes a private repository with a first commit. ALREADY_EXISTS when there is one; CONFLICT when the host made one that is
   * not private, which is left as it is. `manual` refuses with INVALID_ARGUMENT.
   */
  createRepository(path: RepositoryPath, call?: Call): Promise<Repository>;

  /** All deploy keys of a repository, ours or not, in the host's order. */
  listDeployKeys(
    path: RepositoryPath,
    call?: Call,
  ): Promise<{ readonly state: 'listed'; readonly keys: readonly DeployKey[] } | Unknown>;

  /**
   * Adds a key that may only read. `present`: the repository had it (then possibly under a title that is not ours).
   * GIT_KEY_IN_USE when the host refuses it because it is used elsewhere, or would only share somebody else's key; CONFLICT when
   * the repository has it with the right to write. `known`: its keys as they were listed a moment ago, to be read no second time.
   */
  addDeployKey(
    path: RepositoryPath,
    key: NewDeployKey,
    call?: Call & { readonly known?: readonly DeployKey[] | undefined },
  ): Promise<{ readonly state: 'added' | 'present'; readonly key: DeployKey } | ByHand>;

  /**
   * Removes a key that this installation added: by its recorded id, and only if title and fingerprint say so as well; else
   * CONFLICT and nothing is removed. `gone`: the repository does not have it.
   */
  removeDeployKey(
    path: RepositoryPath,
    recorded: RecordedKey,
    call?: Call,
  ): Promise<{ readonly state: 'removed' | 'gone' } | { readonly state: 'by-hand'; readonly instructions: string }>;

  /** The commit that a branch points to. `absent`: the repository has no such branch. */
  branchHead(
    path: RepositoryPath,
    branch: string,
    call?: Call,
  ): Promise<{ readonly state: 'at'; readonly commit: string } | { readonly state: 'absent' } | Unknown>;
}
