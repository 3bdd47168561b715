import { createHash } from 'node:crypto';
import { FairleadError } from '@fairlead/errors';
import { parseRepositoryPath, type DeployKey, type GitHost, type RepositoryPath } from '@fairlead/git-hosts';
import { readFrom } from '@fairlead/persistence';
import { planKeys, type KeyStep } from '../../domain/deploy-key-plan.js';
import { HostFailure, asked, isOfTheHost } from '../../domain/host-failure.js';
import { openDeployKeys, type StoredDeployKey } from '../../store/deploy-key-store.js';
import { gitHostById, type StoredGitHost } from '../../store/git-host-store.js';
import type { LeasedRepository, NextRun } from '../../store/repository-lease-store.js';
import type { GitRuntime } from './git-hosts.js';
import type { HostAccess } from './host-access.js';
import type { HostProblems } from './host-problem.js';
import type { KeyJournal } from './key-journal.js';

/** Longer than that no run goes on; the next one takes it up. A call of a host may take as long again. */
const RUN_MS = 60_000;
/** A removal from a repository that is not to be seen is given up after this: hosts do not tell whether it is still there. */
const GIVE_UP_MS = 86_400_000;
const KEYS_A_PAGE = 50;

interface RunParts {
  readonly runtime: GitRuntime;
  readonly access: HostAccess;
  readonly problems: HostProblems;
  readonly journal: KeyJournal;
  /** How often a repository is looked at. */
  readonly pace: { readonly everyMs: number; readonly paceMs: number };
}

interface Work {
  readonly host: StoredGitHost;
  readonly remote: GitHost;
  readonly path: RepositoryPath;
  readonly signal: AbortSignal;
  /** As far as it is known now. */
  listed: DeployKey[];
}

/** One look at the deploy keys of one repository: what is desired and not there is added, what is dropped is removed. */
export class DeployKeyRun {
  constructor(private readonly parts: RunParts) {}

  /** When the repository is due again. What the host fails with is recorded; what fails here is thrown. */
  async run({ hostId, path }: LeasedRepository, signal: AbortSignal): Promise<NextRun> {
    const { runtime, access } = this.parts;
    const host = await readFrom(runtime.database, (manager) => gitHostById(manager, hostId));
    const keys = await readFrom(runtime.database, (manager) => openDeployKeys(manager, hostId, path));
    if (!host || keys.length === 0) return 'never';
    try {
      await using remote = await asked(() => access.open(host));
      const work = { host, remote, path: await asked(async () => parseRepositoryPath(path)), signal, listed: [] };
      return await this.#work(work, keys);
    } catch (error) {
      if (!(error instanceof HostFailure) || signal.aborted) throw error;
      await this.#failed(host, path, keys, error.error);
      return this.#regular(keys.length);
    }
  }

  async #work(work: Work, keys: readonly StoredDeployKey[]): Promise<NextRun> {
    const { host, remote, path, signal } = work;
    const startedMs = performance.now();
    const answer = await asked(() => remote.listDeployKeys(path, { signal }));
    await this.parts.problems.clear(host);
    await this.parts.problems.tellExpiry(host);
    if (answer.state === 'listed') work.listed = [...answer.keys];
    const steps =
      answer.state === 'listed' ? planKeys(keys, answer.keys, this.parts.runtime.now()) : keys.flatMap(byHand);
    const isSame = (step: KeyStep<StoredDeployKey>): boolean => step.do === 'note-present' && isAsBefore(step);
    await this.parts.journal.seen(steps.filter(isSame).map(({ key }) => key));
    for (const step of steps.filter((one) => !isSame(one))) {
      if (signal.aborted || performance.now() - startedMs > RUN_MS) return 'now';
      await this.#take(work, step);
    }
    return answer.state === 'listed' ? this.#regular(answer.keys.length) : 'never';
  }

  async #take(work: Work, step: KeyStep<StoredDeployKey>): Promise<void> {
    const { journal } = this.parts;
    switch (step.do) {
      case 'add':
        return this.#add(work, step.key, step.restores);
      case 'remove':
        return this.#remove(work, step.key, step.remoteId);
      case 'note-present':
        return journal.present(step.key, step.remoteId);
      case 'note-removed':
        return journal.removed(step.key, {
          wasOurs: false,
          ...(step.stays ? { instructions: staysOf(step.key) } : {}),
        });
      case 'note-refused':
        return step.key.problemCode === step.code
          ? undefined
          : journal.refused(step.key, { code: step.code, message: step.why });
    }
  }

  async #add({ remote, path, signal, listed }: Work, key: StoredDeployKey, restores: boolean): Promise<void> {
    const { journal } = this.parts;
    const spec = { label: labelOf(key), publicKey: key.publicKey };
    const made = await ofOneKey(() => remote.addDeployKey(path, spec, { signal, known: listed }));
    if (made instanceof FairleadError) return journal.refused(key, made);
    if (made.state === 'by-hand') return journal.byHand(key, made.instructions);
    listed.push(made.key);
    const remoteId = made.key.ours ? made.key.id : null;
    return made.state === 'added' && remoteId !== null
      ? journal.added(key, remoteId, restores)
      : journal.present(key, remoteId);
  }

  async #remove(work: Work, key: StoredDeployKey, remoteId: string): Promise<void> {
    const { journal } = this.parts;
    const { remote, path, signal } = work;
    const recorded = { id: remoteId, fingerprint: key.fingerprint };
    const gone = await ofOneKey(() => remote.removeDeployKey(path, recorded, { signal }));
    // What has the number now is not ours, and stays.
    if (gone instanceof FairleadError) return journal.removed(key, { wasOurs: false });
    if (gone.state === 'by-hand') return journal.removed(key, { wasOurs: false, instructions: gone.instructions });
    work.listed = work.listed.filter(({ id }) => id !== remoteId);
    return journal.removed(key, { wasOurs: true });
  }

  async #failed(
    host: StoredGitHost,
    path: string,
    keys: readonly StoredDeployKey[],
    error: FairleadError,
  ): Promise<void> {
    const { problems, journal } = this.parts;
    if (isOfTheHost(error)) return problems.record(host, error);
    await problems.clear(host);
    await journal.repositoryFails({ hostId: host.id, path }, error);
    if (error.code !== 'NOT_FOUND' && error.code !== 'GONE') return;
    const givenUp = this.parts.runtime.now().getTime() - GIVE_UP_MS;
    for (const key of keys) {
      const isOver = key.state === 'removing' && key.stateSince.getTime() < givenUp;
      const instructions = `The repository was not to be seen: if it is there, remove the key ${key.fingerprint} from it.`;
      if (isOver) await journal.removed(key, { wasOurs: false, instructions });
    }
  }

  #regular(keys: number): NextRun {
    return { ...this.parts.pace, pages: Math.max(1, Math.ceil(keys / KEYS_A_PAGE)) };
  }
}

/** What somebody else added, only they take away. */
function staysOf({ fingerprint, path }: StoredDeployKey): string {
  return `Fairlead did not add the key ${fingerprint} to ${path}, and leaves it there: remove it yourself.`;
}

/** A host that is not asked: what is to be done is said once. */
function byHand(key: StoredDeployKey): KeyStep<StoredDeployKey>[] {
  if (key.state === 'wanted') return [{ do: 'add', key, restores: false }];
  return key.state === 'removing' ? [{ do: 'remove', key, remoteId: '0' }] : [];
}

function isAsBefore(step: KeyStep<StoredDeployKey>): boolean {
  const { state, remoteId, problemCode } = step.key;
  return step.do === 'note-present' && state === 'present' && remoteId === step.remoteId && problemCode === null;
}

/** What is wrong with this key alone is an answer; everything else ends the run. */
async function ofOneKey<T>(work: () => Promise<T>): Promise<T | FairleadError> {
  try {
    return await asked(work);
  } catch (error) {
    const isOfOneKey = error instanceof HostFailure && ['GIT_KEY_IN_USE', 'CONFLICT'].includes(error.error.code);
    if (isOfOneKey) return error.error;
    throw error;
  }
}

/** Different for each key: hosts refuse a title that is taken. */
function labelOf({ clusterName, number, fingerprint }: StoredDeployKey): string {
  const mark = createHash('sha256').update(fingerprint).digest('hex').slice(0, 8);
  return `${clusterName}/${number}/${mark}`;
}
