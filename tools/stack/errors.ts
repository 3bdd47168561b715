/** Why a stack cannot run, for a person: one line that says what to do, and what the child said last where that helps. */
export class StackError extends Error {
  override readonly name = 'StackError';
  /** Last lines of the log of the process that failed. */
  readonly tail: readonly string[];

  constructor(message: string, options: { readonly cause?: unknown; readonly tail?: readonly string[] } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.tail = options.tail ?? [];
  }
}

/** A port that is taken; whoever chose the ports knows how to choose others. */
export class PortInUseError extends StackError {
  constructor(
    readonly port: number,
    readonly neededBy: string,
  ) {
    super(`port ${port} of 127.0.0.1 is in use, and ${neededBy} needs it`);
  }
}
