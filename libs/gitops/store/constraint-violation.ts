import { QueryFailedError } from 'typeorm';

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const KINDS = { '23505': 'unique', '23503': 'foreign-key' } as const;

/** Which kind of constraint the database says that a statement would break; undefined for anything else. */
export function violationOf(error: unknown): 'unique' | 'foreign-key' | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const { code } = error.driverError as { code?: string };
  return code === '23505' || code === '23503' ? KINDS[code] : undefined;
}
