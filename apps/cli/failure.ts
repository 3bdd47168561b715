import { FairleadError, oneLine, type ErrorCode } from '@fairlead/errors';

/** An error with what to do about it. */
export function failure(code: ErrorCode, message: string, next: string, cause?: unknown): FairleadError {
  return new FairleadError(code, message, { details: { next }, cause });
}

/** The same, of what may be over in a moment: a part that restarts, a connection that broke off. */
export function passing({ code, message, details, cause }: FairleadError): FairleadError {
  return new FairleadError(code, message, { details: { ...details, passing: true }, cause });
}

/** May it be otherwise in a moment, with the same question? */
export function isPassing(error: unknown): error is FairleadError {
  return error instanceof FairleadError && error.details?.passing === true;
}

/** The command line itself is wrong: exit status 2. */
export function usage(message: string, next: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', message, { details: { next, usage: true } });
}

/** Something failed, and all there is to say was said: exit status 1, and no text. */
export function alreadySaid(): FairleadError {
  return new FairleadError('UNAVAILABLE', 'something failed', { details: { said: true } });
}

/** `error: …` and `next: …`, and the exit status that belongs to them. */
export function describeFailure(error: unknown): { text: string; exitCode: number } {
  const known = error instanceof FairleadError ? error : undefined;
  if (known?.details?.said === true) return { text: '', exitCode: 1 };
  const message = known?.message ?? (error instanceof Error ? error.message : String(error));
  const next = known?.details?.next;
  const lines = [`error: ${oneLine(message)}`, ...(typeof next === 'string' ? [`next: ${oneLine(next)}`] : [])];
  return { text: `${lines.join('\n')}\n`, exitCode: known?.details?.usage === true ? 2 : 1 };
}
