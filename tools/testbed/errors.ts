/** A failure of the testbed itself (nothing works here, a child died, a sum did not match), told in words a person can act on. */
export class TestbedError extends Error {
  override readonly name = 'TestbedError';
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node's connect errors to a name with several addresses carry their text only in `errors`.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
