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

/** The value as the schema reads it; throws InvalidInput with paths that begin with `where`. No text has what Postgres cannot keep, in any field. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) {
    const problems = unkeepable(parsed.data, where);
    if (problems.length > 0) throw new InvalidInput(problems);
    return parsed.data;
  }
  throw new InvalidInput(
    parsed.error.issues.map((issue) => ({
      path: [where, ...issue.path.map(String)].join('.'),
      message: messageOfIssue(issue),
    })),
  );
}

/** Of a key in a map zod itself says only that it is not valid; of what is missing, that it is undefined. */
function messageOfIssue(issue: z.core.$ZodIssue): string {
  const [first] = issue.code === 'invalid_key' ? issue.issues : [];
  if (first) return first.message;
  const [, expected, received] = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue.message) ?? [];
  if (received === 'undefined') return 'is missing';
  if (expected === 'string' && received !== undefined && UNQUOTED.has(received))
    return `has to be a text, and is a ${received}: in YAML, write it in quotes`;
  return issue.message;
}

/** What YAML makes of texts without quotes. */
const UNQUOTED = new Set(['number', 'boolean']);

const NOT_KEPT = /[\0\p{Surrogate}]/u;

/** Texts with a NUL, which is in no text of Postgres, or with half of a surrogate pair, which is in no jsonb. */
function unkeepable(value: unknown, path: string): FieldProblem[] {
  if (typeof value === 'string') {
    return !NOT_KEPT.test(value) ? [] : [{ path, message: 'has a NUL character, or half of a surrogate pair' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [
    ...unkeepable(key, path),
    ...unkeepable(each, `${path}.${key}`),
  ]);
}
