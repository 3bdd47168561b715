import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import type { FieldProblem } from '../contract/schemas.js';

/** INVALID_ARGUMENT that names each field and what is wrong with it, never its value. */
export class InvalidInput extends FairleadError {
  readonly problems: readonly FieldProblem[];

  constructor(problems: readonly FieldProblem[]) {
    const first = problems[0];
    super('INVALID_ARGUMENT', first ? `${first.path}: ${first.message}` : 'the request is not valid');
    this.problems = problems;
  }
}

/** The value as the schema reads it; throws InvalidInput with paths that begin with `where`. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidInput(
    parsed.error.issues.map((issue) => ({
      path: [where, ...issue.path.map(String)].join('.'),
      message: issue.message,
    })),
  );
}
