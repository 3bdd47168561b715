import { FairleadError } from '@fairlead/errors';

/** `owner/name`; on GitLab the owner may be nested, `group/subgroup/name`. Made by `parseRepositoryPath` only. */
export interface RepositoryPath {
  /** Everything before the last slash. */
  readonly owner: string;
  readonly name: string;
}

const MAX_SEGMENTS = 21;
const SEGMENT = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_-])?$/;

/**
 * Reads a repository's path as it stands in its URL, without `.git`. Throws INVALID_ARGUMENT for what no host allows, and for
 * `nested: false` (GitHub, Gitea) for more than two segments.
 */
export function parseRepositoryPath(text: string, { nested = true }: { nested?: boolean } = {}): RepositoryPath {
  const segments = text.split('/');
  const fits = segments.length >= 2 && segments.length <= (nested ? MAX_SEGMENTS : 2);
  if (text.length > 1_000 || !fits || !segments.every(isSegment)) {
    const form = nested ? 'owner/name or group/…/name' : 'owner/name';
    throw new FairleadError('INVALID_ARGUMENT', `a repository is named ${form}, without .git at its end`);
  }
  return { owner: segments.slice(0, -1).join('/'), name: segments.at(-1)! };
}

export function repositoryText({ owner, name }: RepositoryPath): string {
  return `${owner}/${name}`;
}

const isSegment = (segment: string): boolean => SEGMENT.test(segment) && !/\.(?:git|atom|wiki)$/i.test(segment);

// What `git check-ref-format` refuses, as far as it matters in a URL and on a command line.
const REF_REFUSED = /[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\/\.|\.\/|\.lock(?:\/|$)/u;

/** Throws INVALID_ARGUMENT unless Git would take it for a branch. */
export function checkBranch(branch: string): void {
  const edges = /^[-/.]|[/.]$/.test(branch);
  if (branch === '' || branch === '@' || branch.length > 250 || edges || REF_REFUSED.test(branch))
    throw new FairleadError('INVALID_ARGUMENT', 'this is not the name of a branch');
}

const SSH_URL =
  /^ssh:\/\/[A-Za-z0-9_][\w.-]{0,62}@(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?\/[\w~./-]{1,1000}$/;
const SCP_FORM = /^[A-Za-z0-9_][\w.-]{0,62}@[A-Za-z0-9][A-Za-z0-9.-]{0,252}:[\w~./][\w~./-]{0,999}$/;

/**
 * Is this an address for Git over SSH, with a user and a host that cannot be taken for an option? A host's answer becomes a
 * program's argument one day.
 */
export function isSshUrl(text: string): boolean {
  return (SSH_URL.test(text) || SCP_FORM.test(text)) && !text.split('/').includes('..');
}
