import type { Link } from '@fairlead/tunnel/agent';

/** One of the links to keep. */
export interface SlotContext {
  readonly slot: number;
  readonly signal: AbortSignal;
  /** Resolves when the signal is aborted; one promise for all waits, so that they leave no listeners behind. */
  readonly aborted: Promise<null>;
  /** Called once its next link stands: what a draining one waits for. */
  onLinked: () => void;
  /** Links of the replica it was linked to last, as that said; 0 if it never did. */
  crowd: number;
}

/** How it ended. */
export type Lived =
  | { readonly kind: 'lived' | 'brief' | 'same-replica' }
  | { readonly kind: 'drained'; readonly left: LeftLink };

/** A link whose replica wants to be left. */
export interface LeftLink {
  readonly link: Link;
  /** How long the replica waits for that. */
  readonly deadlineMs: number;
}

/** A signal for the end of something. */
export function abortedBy(end: Promise<unknown>): AbortSignal {
  const ended = new AbortController();
  void end.then(() => ended.abort());
  return ended.signal;
}
