import type { AuditEntry } from '../session/audit-answers.js';
import { IdTable } from './id-table.js';
import { BROKE_OFF, MAX_REQUESTS, NOT_REQUIRED, type ToldRequests } from './told-requests.js';

/** Of a told request, beside NOT_REQUIRED and BROKE_OFF: what the log has of it. */
const OUTCOME = 1 << 2;
const INTENT = 1 << 3;
const UNKNOWN = 1 << 4;
const TWICE = 1 << 5;
const OTHER_STATUS = 1 << 6;

/** Named one by one; of more there is the count. */
const MAX_NAMED = 100;
const MAX_USERS = 1_000;

/** Some of many. */
export interface Named {
  readonly count: number;
  /** The first hundred. */
  readonly ids: readonly string[];
}

/** How what a program says compares with what the log says. */
export interface Reconciled {
  readonly requests: number;
  readonly noAnswer: number;
  readonly unnamed: number;
  /** With one outcome, and the status that the client saw. */
  readonly once: number;
  /** It began, and nobody can say how it ended; `unsettled` of them have no entry that says so yet. */
  readonly unknown: number;
  readonly unsettled: number;
  readonly missing: Named;
  /** Of those that nobody promised to have on record. */
  readonly notKept: number;
  readonly twice: Named;
  readonly otherStatus: Named;
  /** Requests of the same users in the time of the file that it has not. */
  readonly notInFile: Named;
  /** What gateways said in the log meanwhile that they could not keep. */
  readonly lost: number;
}

/** Compares the log, entry by entry in its order, with what was told. Its memory grows with the requests, by 40 bytes each at most. */
export class Reconciliation {
  readonly #told: ToldRequests;
  /** Requests that are not in the file, with the place of the user among `#users` as the number. */
  readonly #unlisted = new IdTable(MAX_REQUESTS);
  readonly #users = new Map<string, { readonly place: number; inFile: boolean }>();
  #lost = 0;

  constructor(told: ToldRequests) {
    this.#told = told;
  }

  take({ kind, user, at, body }: AuditEntry): void {
    if (kind === 'lost' && this.#isMeanwhile(at)) this.#lost += Number(body?.['count'] ?? 0);
    const id = body?.[kind === 'unknown' ? 'passageId' : 'id'];
    if (typeof id !== 'string' || (kind !== 'passage' && kind !== 'unknown')) return;
    const slot = this.#told.known.find(id);
    if (slot === undefined) this.#takeUnlisted(id, user, at);
    else this.#takeTold(slot, { kind, user, body: body ?? {} });
  }

  /** What is still to be waited for: required ones that are missing, and beginnings that nobody has said the end of. */
  get awaited(): number {
    const { missing, unsettled } = this.result();
    return missing.count + unsettled;
  }

  result(): Reconciled {
    const { known, lines, noAnswer, unnamed } = this.#told;
    const [missing, twice, otherStatus] = [new Names(), new Names(), new Names()];
    let [once, unknown, unsettled, notKept] = [0, 0, 0, 0];
    for (const slot of known.slots()) {
      const is = (flag: number): boolean => known.has(slot, flag);
      if (is(TWICE)) twice.add(known.idAt(slot));
      else if (is(BROKE_OFF)) continue;
      else if (is(OTHER_STATUS)) otherStatus.add(known.idAt(slot));
      else if (is(OUTCOME)) once += 1;
      else if (is(INTENT) || is(UNKNOWN)) [unknown, unsettled] = [unknown + 1, unsettled + (is(UNKNOWN) ? 0 : 1)];
      else if (is(NOT_REQUIRED)) notKept += 1;
      else missing.add(known.idAt(slot));
    }
    const notInFile = this.#notInFile();
    const counts = { requests: lines, noAnswer, unnamed, once, unknown, unsettled, notKept, lost: this.#lost };
    return { ...counts, missing, twice, otherStatus, notInFile };
  }

  #takeTold(slot: number, { kind, user, body }: Pick<AuditEntry, 'kind' | 'user'> & { body: Record<string, unknown> }) {
    const { known } = this.#told;
    if (user !== '') this.#user(user).inFile = true;
    const what = kind === 'unknown' ? UNKNOWN : body['phase'] === 'intent' ? INTENT : OUTCOME;
    if (known.has(slot, what)) known.mark(slot, TWICE);
    known.mark(slot, what);
    if (what === OUTCOME && body['status'] !== known.numberAt(slot) && !known.has(slot, BROKE_OFF))
      known.mark(slot, OTHER_STATUS);
  }

  #isMeanwhile(at: string): boolean {
    const atMs = Date.parse(at);
    return atMs >= this.#told.firstMs && atMs <= this.#told.lastMs;
  }

  #takeUnlisted(id: string, user: string, at: string): void {
    if (user === '' || !this.#isMeanwhile(at)) return;
    const { slot } = this.#unlisted.add(id);
    this.#unlisted.setNumber(slot, this.#user(user).place);
  }

  /** Beyond a thousand users all are one. */
  #user(name: string): { readonly place: number; inFile: boolean } {
    const known = this.#users.get(name);
    if (known) return known;
    const added = { place: this.#users.size, inFile: false };
    if (this.#users.size < MAX_USERS) this.#users.set(name, added);
    return added;
  }

  #notInFile(): Named {
    const named = new Names();
    const ours = new Set([...this.#users.values()].filter(({ inFile }) => inFile).map(({ place }) => place));
    for (const slot of this.#unlisted.slots()) {
      if (ours.has(this.#unlisted.numberAt(slot))) named.add(this.#unlisted.idAt(slot));
    }
    return named;
  }
}

class Names implements Named {
  count = 0;
  readonly ids: string[] = [];

  add(id: string): void {
    this.count += 1;
    if (this.ids.length < MAX_NAMED) this.ids.push(id);
  }
}
