import { inspect } from 'node:util';
import { FairleadError, type ErrorCode } from '@fairlead/errors';
import { expect } from 'vitest';

/** The call fails with the code, and with none of the secrets anywhere in the error. */
export async function failsWith(
  code: ErrorCode,
  call: Promise<unknown>,
  secrets: readonly string[] = [],
): Promise<FairleadError> {
  const error = await call.then(
    (value: unknown) => new Error(`it succeeded with ${inspect(value)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(FairleadError);
  expect(error).toMatchObject({ code });
  const everything = `${inspect(error, { depth: 10 })} ${JSON.stringify(error)} ${(error as Error).stack}`;
  for (const secret of secrets) expect(everything).not.toContain(secret);
  return error as FairleadError;
}
