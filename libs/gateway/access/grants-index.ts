import { compileRules, type AccessRule, type CompiledRules } from '@fairlead/access-rules';
import {
  grantsKeys,
  isInForce,
  scopeFilter,
  subjectsOf,
  type AccessEntry,
  type ClientEntry,
  type ClusterEntry,
  type GrantEntry,
  type GrantsEntry,
} from '@fairlead/contracts';
import type { TargetGrant } from '@fairlead/targets';

/** Rules of one token or session in one cluster, as they were worked out last: some 300 bytes each, as what is in a rule is shared. Beyond it all are forgotten. */
const MAX_REMEMBERED = 50_000;

/** As much of an access entry, or of a session, as grants are found by. */
export type Proven = Pick<AccessEntry, 'tenantId' | 'kind' | 'user' | 'subjectGroups'>;

type SubjectGrants = Extract<GrantsEntry, { kind: 'subject' }>;

/** Something stands there, which may deny. */
const UNREAD = 'unread';
type Standing = SubjectGrants | typeof UNREAD | undefined;

/** Of one access entry or session, which is another object once it has changed. */
interface Known {
  /** Of its subjects, in the bucket. */
  readonly keys: readonly string[];
  readonly byCluster: Map<string, Remembered>;
}

interface Remembered {
  readonly entries: readonly Standing[];
  readonly cluster: ClusterEntry;
  readonly rules: CompiledRules;
  /** It holds from then on, until then. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Of the index, when it was last seen to hold. */
  changes: number;
}

/** What is granted to whom, and what is locked down: the bucket `grants`, as doors decide by it. Pure memory; times are milliseconds since the epoch. */
export class GrantsIndex {
  readonly #subjects = new Map<string, Exclude<Standing, undefined>>();
  readonly #lockdowns = new Map<string, string>();
  #known = new WeakMap<Proven, Known>();
  #remembered = 0;
  #changes = 0;

  /** What the bucket has below this key now; undefined: nothing any more. */
  set(key: string, entry: GrantsEntry | undefined): void {
    this.#changes += 1;
    this.#subjects.delete(key);
    this.#lockdowns.delete(key);
    if (entry?.kind === 'subject') this.#subjects.set(key, entry);
    else if (entry) this.#lockdowns.set(key, entry.reason);
  }

  /**
   * What the bucket has below this key cannot be read, and never could: it may be of another version. Until that changes whoever it is of has nothing,
   * whatever else is granted to them, since it may deny; and what may be a lockdown is one.
   */
  setUnread(key: string): void {
    this.#changes += 1;
    this.#subjects.set(key, UNREAD);
    this.#lockdowns.set(key, 'what stands there about it cannot be read by this version');
  }

  /** Why all access to this cluster is off; undefined: it is not. */
  lockdownOf({ tenantId, clusterId }: Pick<ClusterEntry, 'tenantId' | 'clusterId'>): string | undefined {
    if (this.#lockdowns.size === 0) return undefined;
    const reasonOf = (id: string | null): string | undefined => this.#lockdowns.get(grantsKeys.lockdown(tenantId, id));
    return reasonOf(null) ?? reasonOf(clusterId);
  }

  /** The rules that mean somebody in a cluster at this time. The same object for as long as they do not change. */
  rulesOf(who: Proven, cluster: ClusterEntry, nowMs: number): CompiledRules {
    const { keys, byCluster } = this.#knownOf(who);
    const remembered = byCluster.get(cluster.clusterId);
    if (remembered?.cluster === cluster && this.#holds(keys, remembered, nowMs)) return remembered.rules;
    const worked = this.#workOut(keys, cluster, nowMs);
    this.#remember(who, worked, remembered === undefined);
    return worked.rules;
  }

  /** The same for a time that is over, by what is known now. Nothing is remembered of it. */
  rulesAt(who: Proven, cluster: ClusterEntry, thenMs: number): CompiledRules {
    return this.#workOut(this.#knownOf(who).keys, cluster, thenMs).rules;
  }

  /** Whether anything is granted, or denied, to a client of the CONNECT door. */
  hasClient(client: Pick<ClientEntry, 'tenantId' | 'name'>): boolean {
    return this.#subjects.has(keyOfClient(client));
  }

  /** Those to a client of the CONNECT door that mean a cluster at this time. Undefined: they cannot be read, and one may deny. */
  ofClient(
    client: Pick<ClientEntry, 'tenantId' | 'name'>,
    cluster: ClusterEntry,
    nowMs: number,
  ): TargetGrant[] | undefined {
    const entry = this.#subjects.get(keyOfClient(client));
    if (entry === UNREAD) return undefined;
    const grants = (entry?.grants ?? []).filter((grant) => means(grant, cluster) && isInForce(grant, nowMs));
    return grants.map(targetGrantOf);
  }

  #knownOf(who: Proven): Known {
    const known = this.#known.get(who);
    if (known) return known;
    const keys = subjectsOf(who).map((subject) => grantsKeys.subject(who.tenantId, subject));
    const added = { keys, byCluster: new Map<string, Remembered>() };
    this.#known.set(who, added);
    return added;
  }

  #remember(who: Proven, worked: Remembered, isNew: boolean): void {
    if (isNew && this.#remembered >= MAX_REMEMBERED) {
      this.#known = new WeakMap();
      this.#remembered = 0;
    }
    if (isNew) this.#remembered += 1;
    this.#knownOf(who).byCluster.set(worked.cluster.clusterId, worked);
  }

  #holds(keys: readonly string[], known: Remembered, nowMs: number): boolean {
    if (nowMs < known.fromMs || nowMs >= known.untilMs) return false;
    if (known.changes === this.#changes) return true;
    if (!keys.every((key, i) => this.#subjects.get(key) === known.entries[i])) return false;
    known.changes = this.#changes;
    return true;
  }

  #workOut(keys: readonly string[], cluster: ClusterEntry, nowMs: number): Remembered {
    const entries = keys.map((key) => this.#subjects.get(key));
    const meaning = grantsIn(entries).filter((grant) => means(grant, cluster));
    const rules: AccessRule[] = meaning.filter((grant) => isInForce(grant, nowMs)).map(({ rule }) => rule);
    const untilMs = Math.min(...meaning.flatMap(turningPoints).filter((timeMs) => timeMs > nowMs), Infinity);
    const changes = this.#changes;
    return { entries, cluster, rules: compileRules(rules), fromMs: nowMs, untilMs, changes };
  }
}

function grantsIn(entries: readonly Standing[]): GrantEntry[] {
  const read = entries.filter((entry) => entry !== UNREAD);
  return read.length < entries.length ? [] : read.flatMap((entry) => entry?.grants ?? []);
}

function keyOfClient({ tenantId, name }: Pick<ClientEntry, 'tenantId' | 'name'>): string {
  return grantsKeys.subject(tenantId, { kind: 'client', name });
}

const targetGrants = new WeakMap<GrantEntry, TargetGrant>();

/** The same object for as long as the grant is the same: its rules are read once. */
function targetGrantOf(grant: GrantEntry): TargetGrant {
  const known = targetGrants.get(grant);
  if (known) return known;
  const { grantId, effect } = grant.rule;
  const made = { grantId, effect, targets: grant.targets };
  targetGrants.set(grant, made);
  return made;
}

const filters = new WeakMap<GrantEntry, ReturnType<typeof scopeFilter>>();

function means(grant: GrantEntry, cluster: ClusterEntry): boolean {
  const filter = filters.get(grant) ?? scopeFilter(grant.clusters);
  filters.set(grant, filter);
  return filter(cluster);
}

/** When it begins to count, and when it ceases to. */
function turningPoints({ notBefore, expiresAt }: GrantEntry): number[] {
  return [notBefore, expiresAt].filter((time) => time !== null).map((time) => Date.parse(time));
}
