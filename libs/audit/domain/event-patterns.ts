import { DEFAULT_TENANT, NO_TENANT } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** Before every type, and not in patterns or subjects. */
const PREFIX = 'dev.fairlead.';

/** INVALID_ARGUMENT, for the first pattern that means none of the types of events that there are. */
export function checkEventPatterns(patterns: readonly string[], types: readonly string[]): void {
  const meaningless = patterns.find((pattern) => !types.some((type) => meansType([pattern], type)));
  if (meaningless === undefined) return;
  throw new FairleadError(
    'INVALID_ARGUMENT',
    `there is no event ${meaningless}; see which there are: docs/events.md, or /docs of the admin API`,
  );
}

/** Without those that another one says already, sorted: JetStream takes no filters that overlap. */
export function leastPatterns(patterns: readonly string[]): string[] {
  const all = new Set(patterns);
  if (all.has('*')) return ['*'];
  return [...all].filter((pattern) => pattern.endsWith('.*') || !all.has(`${areaOf(pattern)}.*`)).toSorted();
}

/** Subjects of the events of a tenant that these patterns mean. What belongs to no tenant is told to the default one, as in the audit log. */
export function subjectsOf(tenantId: string, patterns: readonly string[]): string[] {
  const tenants = tenantId === DEFAULT_TENANT ? [tenantId, NO_TENANT] : [tenantId];
  return tenants.flatMap((tenant) =>
    leastPatterns(patterns).map((pattern) => `fairlead.events.${tenant}.*.${typeSubject(pattern)}`),
  );
}

/** Whether an event of this type (`dev.fairlead.grant.created.v1`) is meant by one of these patterns. */
export function meansType(patterns: readonly string[], type: string): boolean {
  const parts = type.slice(PREFIX.length).split('.');
  return type.startsWith(PREFIX) && patterns.some((pattern) => means(pattern, parts));
}

function typeSubject(pattern: string): string {
  if (pattern === '*') return '>';
  return pattern.endsWith('.*') ? `${areaOf(pattern)}.>` : `${pattern}.*`;
}

function means(pattern: string, [area, happened]: readonly string[]): boolean {
  return pattern === '*' || pattern === `${area}.*` || pattern === `${area}.${happened}`;
}

function areaOf(pattern: string): string {
  return pattern.slice(0, pattern.indexOf('.'));
}
