import type { GitHost } from '../git-host.js';
import { openGitHost, type ApiHostOptions } from '../open-git-host.js';
import type { RepositoryPath } from '../repository-path.js';
import type { Front } from './front.js';

/** A Git host that the contract is tried on, and what can be done to it besides the driver. */
export interface HostUnderTest extends AsyncDisposable {
  readonly kind: ApiHostOptions['kind'];
  readonly front: Front;
  readonly tokens: {
    /** As the README says: enough, and no more. */
    readonly enough: string;
    /** May see the repository and must not touch its keys. */
    readonly readOnly: string;
    /** Enough, and much more. */
    readonly wide: string;
  };
  /** Private, with one commit on `main`, to which `release/1` points too. */
  readonly repository: RepositoryPath;
  /** `repository`'s, on both branches. */
  readonly head: string;
  /** Where the token may make repositories. */
  readonly owner: string;
  /** What the driver asks for the repository's keys, as the end of a path. */
  readonly keysPath: string;
  /** Somebody adds a key by hand; its id. */
  addByHand(key: { title: string; publicKey: string; readOnly: boolean }): Promise<string>;
  /** Ids of the keys that the host has, by its own account. */
  idsOnHost(): Promise<string[]>;
  /** Uses the key so that the host refuses it as a deploy key from now on. */
  useElsewhere(publicKey: string): Promise<void>;
}

export const INSTALLATION = 'test-installation';

/** The driver, with short deadlines and pauses. */
export function openUnderTest(
  { kind, front, tokens }: Pick<HostUnderTest, 'kind' | 'front' | 'tokens'>,
  options: Partial<ApiHostOptions> = {},
): GitHost {
  const limits = { retryBaseMs: 1, retryCapMs: 10, retryBurst: 1_000, ...options.limits };
  const { url, caPem } = front;
  return openGitHost({ kind, url, caPem, token: tokens.enough, installation: INSTALLATION, ...options, limits });
}
