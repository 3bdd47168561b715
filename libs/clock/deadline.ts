/** Until when something may take; call `clear` when it is over. */
export interface Deadline {
  /** Aborted with the outer signal's reason, or with what `late` says. */
  readonly signal: AbortSignal;
  clear(): void;
}

/**
 * A signal for one piece of work, which the outer signal may end and which has `ms` milliseconds. Unlike AbortSignal.any it
 * leaves nothing to the garbage collector to find, which counts where it is made for each connection.
 */
export function startDeadline(outer: AbortSignal, ms: number, late: () => Error): Deadline {
  const controller = new AbortController();
  const onOuter = (): void => {
    clear();
    controller.abort(outer.reason);
  };
  const timer = setTimeout(() => {
    clear();
    controller.abort(late());
  }, ms);
  const clear = (): void => {
    clearTimeout(timer);
    outer.removeEventListener('abort', onOuter);
  };
  if (outer.aborted) onOuter();
  else outer.addEventListener('abort', onOuter);
  return { signal: controller.signal, clear };
}
