import type { Link } from '@fairlead/tunnel/agent';
import type { Miss } from './endpoint-choice.js';
import type { Endpoint } from './forward-proxy.js';
import type { SlotPace } from './retry-pace.js';

/** One of the links to keep. */
export interface SlotContext {
  readonly slot: number;
  readonly pace: SlotPace;
  readonly signal: AbortSignal;
  /** Resolves when the signal is aborted; one promise for all waits, so that they leave no listeners behind. */
  readonly aborted: Promise<null>;
  /** Called once its next link stands: what a draining one waits for. */
  onLinked: () => void;
  /** Links of the replica it was linked to last, as that said; 0 if it never did. */
  crowd: number;
  /** Stands already, and takes the place of the one before it. */
  next: MadeLink | null;
}

/** A link that stands, and that the gateway may not use yet. */
export interface MadeLink {
  readonly endpoint: Endpoint;
  readonly link: Link;
  /** Its replica wants to be left, within so many milliseconds. */
  readonly drained: Promise<number>;
  /** Its connection, and its place among those of its endpoint. */
  readonly resources: DisposableStack;
}

export function isMade(cause: unknown): cause is MadeLink {
  return typeof cause === 'object' && cause !== null && 'link' in cause;
}

/** How it ended. */
export type Lived =
  | { readonly kind: 'lived' | 'brief' | 'same-replica' }
  | { readonly kind: 'drained'; readonly left: LeftLink };

/** What that says against its endpoint; null: nothing, also where a better one was found. */
export function missOf({ kind }: Lived, { next }: SlotContext): Miss | null {
  if (kind === 'same-replica') return kind;
  return kind === 'brief' || (kind === 'drained' && !next) ? 'left' : null;
}

/** A link whose replica wants to be left, or that another one takes the place of. */
export interface LeftLink {
  readonly link: Link;
  /** How long the replica waits for that. */
  readonly deadlineMs: number;
  /** Another one takes its place: the replica does not know yet that it is left. */
  readonly isMoved: boolean;
}

/** A signal for the end of something. */
export function abortedBy(end: Promise<unknown>): AbortSignal {
  const ended = new AbortController();
  void end.then(() => ended.abort());
  return ended.signal;
}
