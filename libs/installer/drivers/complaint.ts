import type { SourceState } from '@fairlead/desired-state';
import { Problem } from '../problem.js';

/**
 * The tools have one reason for all that can go wrong between them and the Git host. What is told apart here is told apart by its words,
 * and decides nothing but what people read: https://pkg.go.dev/golang.org/x/crypto/ssh, …/ssh/knownhosts and net, which both tools ask
 * with, and ssh(1), which Argo CD fetches with. That one ends whatever went wrong with `Could not read from remote repository`.
 */
const SAID: readonly (readonly [RegExp, code: string, what: string])[] = [
  [
    /knownhosts: |host key/i,
    'SOURCE_HOST_KEY',
    'the Git host shows an SSH key that nobody approved: nothing is fetched from it',
  ],
  [
    /dial tcp|connection (refused|reset)|no route to host|no such host|could not resolve hostname|timed? ?out|deadline exceeded|\bEOF\b/i,
    'SOURCE_UNREACHABLE',
    'the Git host cannot be reached from this cluster',
  ],
  [
    /unable to authenticate|permission denied|access denied|not found|could not read from remote|deploy key/i,
    'SOURCE_KEY_REFUSED',
    'the Git host does not let the deploy key of this cluster read the repository',
  ],
];

/**
 * Why the tool, which works, does not follow its repository; null: it does, or nothing is known yet. What it deployed stays. Its own
 * words stand in the state. `isUnverified`: does it turn a commit down for its signature?
 */
export function complaintOf(
  source: SourceState | null,
  sync: SourceState | null,
  isUnverified: (source: SourceState) => boolean,
): Problem | null {
  if (source?.ready === false) return ofSource(source, isUnverified(source));
  if (sync?.ready === false) return new Problem('SYNC_FAILED', 'what is in the repository cannot be applied');
  return null;
}

function ofSource(source: SourceState, isUnverified: boolean): Problem {
  if (isUnverified) {
    return new Problem('SOURCE_UNVERIFIED', 'the newest commit is not signed as it has to be: it is not followed');
  }
  const [, code = 'SOURCE_FAILED', what = 'the repository cannot be fetched'] =
    SAID.find(([said]) => said.test(source.message)) ?? [];
  return new Problem(code, what);
}
