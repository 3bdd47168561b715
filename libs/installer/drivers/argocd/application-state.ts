import type { SourceState } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';

interface Source {
  readonly repoURL?: string;
  readonly path?: string;
  readonly targetRevision?: string;
}

interface ApplicationStatus {
  readonly conditions?: readonly Condition[];
  readonly sync?: {
    readonly status?: string;
    readonly revision?: string;
    readonly comparedTo?: { readonly source?: Source };
  };
  readonly operationState?: {
    readonly phase?: string;
    readonly message?: string;
    readonly retryCount?: number;
    readonly finishedAt?: string;
    readonly syncResult?: { readonly revision?: string };
  };
}

interface Condition {
  readonly type: string;
  readonly message?: string;
}

/** The repository, and what was deployed from it, as an Application tells of both. */
export interface ApplicationStates {
  readonly source: SourceState;
  readonly sync: SourceState;
}

/** As Argo CD says what it thinks of a commit's signature: `controller/state.go`, verifyGnuPGSignature. */
const UNVERIFIED =
  /^(Found (good )?signature|Could not verify commit signature|Target revision \S+ in Git is not signed)/;
/** What comes before the manifests are generated: `util/git/client.go`, and checkoutRevision of the repo-server. */
const OF_SOURCE =
  /failed to list refs|unable to resolve|failed to (fetch|checkout|initialize)|initialize git repo|ssh: |knownhosts: /i;
/** The controller could not ask. It is no word of the repository. */
const NOT_ASKED = /code = (Unavailable|Canceled)|failed to connect to repo server|failed to get cluster version/;
/** It asked, and got no answer in time: as a rule a Git host that lets nobody in, and says nothing. */
const NOT_IN_TIME = /code = DeadlineExceeded/;

const REST_MS = 60_000;

/** Does the tool turn down a commit for its signature? */
export function isUnverified({ message }: SourceState): boolean {
  return UNVERIFIED.test(message);
}

/** The messages of all conditions of a type: there may be several. */
export function conditionsOf(application: KubeObject, type: string): string[] {
  const { conditions = [] } = statusOf(application);
  return conditions.flatMap((condition) => (condition.type === type ? [condition.message ?? ''] : []));
}

/** What Argo CD says of one of its Applications; null if there is none. */
export function statesOf(application: KubeObject | null, at: string): ApplicationStates | null {
  if (!application) return null;
  const errors = conditionsOf(application, 'ComparisonError');
  const ofSource = errors.find(concernsSource) ?? null;
  const other = errors.find((message) => !concernsSource(message)) ?? null;
  return { source: sourceOf(application, ofSource, other !== null, at), sync: syncOf(application, other, at) };
}

/** Did it fail to apply a commit, and not try again for a minute? That is how often Flux does. */
export function gaveUp(application: KubeObject, nowMs: number): boolean {
  const { sync, operationState } = statusOf(application);
  const { phase = '', finishedAt = '' } = operationState ?? {};
  if (sync?.status !== 'OutOfSync' || application['operation'] !== undefined) return false;
  return (phase === 'Failed' || phase === 'Error') && nowMs - Date.parse(finishedAt) >= REST_MS;
}

function statusOf(application: KubeObject): ApplicationStatus {
  return application['status'] ?? {};
}

function concernsSource(message: string): boolean {
  return [UNVERIFIED, OF_SOURCE, NOT_ASKED, NOT_IN_TIME].some((words) => words.test(message));
}

/** `isFetched`: what is wrong is wrong with what was fetched. */
function sourceOf(application: KubeObject, error: string | null, isFetched: boolean, at: string): SourceState {
  const { sync } = statusOf(application);
  const revision = revisionOf(application, sync?.revision);
  if (error !== null) return state(NOT_ASKED.test(error) ? null : false, 'ComparisonError', error, revision, at);
  // What was compared before the repository, or its branch, was another one.
  const known = isCurrent(application) && (isFetched || (sync?.revision ?? '') !== '');
  return state(known ? true : null, sync?.status ?? '', '', revision, at);
}

function isCurrent(application: KubeObject): boolean {
  const { source = {} } = (application['spec'] ?? {}) as { source?: Source };
  const { source: seen = {} } = statusOf(application).sync?.comparedTo ?? {};
  return source.repoURL === seen.repoURL && source.path === seen.path && source.targetRevision === seen.targetRevision;
}

function syncOf(application: KubeObject, error: string | null, at: string): SourceState {
  const { sync, operationState } = statusOf(application);
  const { phase = '', message = '', retryCount = 0 } = operationState ?? {};
  const applied = operationState?.syncResult?.revision;
  const revision = revisionOf(application, sync?.status === 'Synced' ? sync.revision : applied);
  const wrong = refusalOf(application) ?? (error === null ? null : (['ComparisonError', error] as const));
  if (wrong) return state(false, wrong[0], wrong[1], revision, at);
  if (sync?.status === 'Synced') return state(true, 'Synced', message, revision, at);
  if (phase === 'Failed' || phase === 'Error' || (phase === 'Running' && retryCount > 0)) {
    return state(false, phase, message, revision, at);
  }
  // It fetched nothing new, or what differs is left: as objects that are gone from the repository, where they are not to be deleted.
  const isApplied = phase === 'Succeeded' && (sync?.status === 'Unknown' || applied === sync?.revision);
  return state(isApplied ? true : null, phase || (sync?.status ?? ''), message, revision, at);
}

/** Argo CD refuses the Application as such, or to apply what is in the repository. */
function refusalOf(application: KubeObject): readonly [type: string, message: string] | null {
  for (const type of ['InvalidSpecError', 'UnknownError', 'SyncError']) {
    const [message] = conditionsOf(application, type);
    if (message !== undefined) return [type, message];
  }
  return null;
}

/** As Flux writes it: `branch@sha1:…`. */
function revisionOf(application: KubeObject, revision: string | undefined): string {
  if (revision === undefined || !/^[0-9a-f]{40}$/.test(revision)) return '';
  const { source } = (application['spec'] ?? {}) as { source?: Source };
  return `${source?.targetRevision ?? ''}@sha1:${revision}`.slice(0, 256);
}

function state(ready: boolean | null, reason: string, message: string, revision: string, at: string): SourceState {
  return { ready, reason: reason.slice(0, 128), message: message.slice(0, 1_024), revision, at };
}
