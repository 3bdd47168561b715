import { ERROR_KINDS, isErrorCode, type ErrorCode, type ErrorKind } from './codes.js';

/** Facts about an error that are safe to show: never a secret, never a payload. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** The shape of an error on the wire between our own processes. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: ErrorDetails;
}

export interface FairleadErrorOptions {
  readonly cause?: unknown;
  readonly details?: ErrorDetails;
}

/**
 * The one error class. `message` says what went wrong, where, and what to do next; it is shown to users, so it never
 * holds a secret.
 */
export class FairleadError extends Error {
  override readonly name = 'FairleadError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, options: FairleadErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }

  /** For an outcome that is looked for, thousands of times a second, and not a fault: it has no stack, which costs more than most decisions. */
  static withoutStack(code: ErrorCode, message: string): FairleadError {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      return new FairleadError(code, message);
    } finally {
      Error.stackTraceLimit = limit;
    }
  }

  get kind(): ErrorKind {
    return ERROR_KINDS[this.code];
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, ...(this.details ? { details: this.details } : {}) };
  }
}

/** Anything thrown, as a FairleadError; what is not one becomes INTERNAL with the safe message and its cause kept. */
export function toFairleadError(error: unknown): FairleadError {
  if (error instanceof FairleadError) return error;
  return new FairleadError('INTERNAL', ERROR_KINDS.INTERNAL.safeMessage, { cause: error });
}

/** An error received from another process. An unknown code (a newer peer) becomes INTERNAL. */
export function fromWire(value: unknown): FairleadError {
  const wire = (typeof value === 'object' && value !== null ? value : {}) as Partial<WireError>;
  const code = isErrorCode(wire.code) ? wire.code : 'INTERNAL';
  const message = typeof wire.message === 'string' ? wire.message : ERROR_KINDS[code].safeMessage;
  return new FairleadError(code, message, wire.details ? { details: wire.details } : {});
}

/** For the default branch of a switch over a union: the compiler proves it is never reached. */
export function assertNever(value: never): never {
  throw new FairleadError('INTERNAL', `unexpected value: ${JSON.stringify(value)}`);
}

/** The message of anything thrown, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Text of somebody else's as one line that cannot move the cursor of a terminal, colour it, or change its direction. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
    .trim();
}
