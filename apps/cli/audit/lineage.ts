import {
  openCheckpoint,
  parseVerifierKey,
  proveConsistency,
  sameHash,
  verifyConsistency,
  type OpenedCheckpoint,
  type TileReader,
} from '@fairlead/transparency-log';
import type { BegunAnew, LogStatement } from './log-statements.js';
import { isSameKey } from './verified-head.js';

/** An earlier log of the tenant, which could not go on: the next one has its first entries. */
export interface EarlierLog {
  readonly origin: string;
  /** How many entries were signed of it. */
  readonly signed: number;
  /** How many of them the log that followed surely has; others may be gone. */
  readonly kept: number;
}

/** What is to be known of a log to look at those before it. */
export interface PresentLog {
  readonly tiles: TileReader;
  readonly checkpoint: OpenedCheckpoint;
  readonly incarnation: number;
  readonly verifierKey: string;
  readonly statements: readonly LogStatement[];
  /** Bodies up to here were taken by the retention, so that nothing is said there any more. */
  readonly erased: number;
}

interface Link {
  readonly log: EarlierLog;
  readonly last: OpenedCheckpoint;
}

/** The logs before this one, the oldest first, each with the checkpoint that was signed last of it. Verified, or a sentence that says what is wrong. */
export class Lineage {
  private constructor(
    private readonly present: PresentLog,
    private readonly links: readonly Link[],
  ) {}

  static of(present: PresentLog): Lineage | string {
    const said = present.statements.filter((each): each is BegunAnew => each.statement === 'begun-anew');
    const links: Link[] = [];
    for (let incarnation = 2; incarnation <= present.incarnation; incarnation += 1) {
      const statement = said.find((each) => each.incarnation === incarnation);
      // Where it is so old that its entry is not kept any more, nobody can have verified what was before and still be held to it.
      if (!statement && present.erased > 0 && links.length === 0) continue;
      const link = statement
        ? linkOf(statement, present)
        : 'this log took the place of another one, and does not say of which';
      if (typeof link === 'string') return link;
      links.push(link);
    }
    return new Lineage(present, links);
  }

  get earlier(): readonly EarlierLog[] {
    return this.links.map(({ log }) => log);
  }

  /** Holds the log to a checkpoint of an earlier one. How many entries that it was of may be gone; a sentence: what is wrong. */
  async hold(checkpoint: OpenedCheckpoint): Promise<number | string> {
    const at = this.links.findIndex(({ log }) => log.origin === checkpoint.origin);
    const link = this.links[at];
    if (!link) return `it is another log, and does not say that it goes on from ${checkpoint.origin}`;
    const { size } = checkpoint;
    if (size > link.last.size || (size === link.last.size && !sameHash(checkpoint.root, link.last.root)))
      return `it says that ${checkpoint.origin} ended with ${link.last.size} entries, and another tree of ${size} was signed`;
    const kept = Math.min(...this.links.slice(at).map(({ log }) => log.kept));
    if (await this.#goesOnFrom(checkpoint)) return 0;
    return size > kept
      ? size - kept
      : `entry 1 to ${size}: at least one was rewritten since ${checkpoint.origin} was signed`;
  }

  async #goesOnFrom({ size: oldSize, root: oldRoot }: OpenedCheckpoint): Promise<boolean> {
    const { tiles, checkpoint } = this.present;
    if (oldSize > checkpoint.size) return false;
    const claim = { oldSize, oldRoot, newSize: checkpoint.size, newRoot: checkpoint.root };
    return verifyConsistency(claim, await proveConsistency(tiles, oldSize, checkpoint.size));
  }
}

function linkOf({ number, kept, signed, last }: BegunAnew, { verifierKey }: PresentLog): Link | string {
  if (number !== kept + 1)
    return `entry ${number} says that a log begins anew after entry ${kept}, and is not the next one`;
  if (!isSameKey(last.verifierKey, verifierKey))
    return `entry ${number} names a log that another key had signed: ${last.verifierKey}`;
  const opened = openCheckpoint(Buffer.from(last.checkpoint), last.origin, [parseVerifierKey(last.verifierKey)]);
  if (opened.size !== last.size)
    return `entry ${number} says ${last.size} entries of a checkpoint that is of ${opened.size}`;
  return { log: { origin: last.origin, signed: last.size, kept: Math.min(signed, kept, last.size) }, last: opened };
}
