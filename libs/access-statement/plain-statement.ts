import { isPlainObject, isPlainRule, isPlainUuid } from '@fairlead/access-rules';
import { AccessStatement, MAX_RULES, MAX_TENANT, MAX_USER, NAME, OF_KUBERNETES } from './access-statement.js';

const FIELDS = Object.keys(AccessStatement.shape).length;
const KINDS: ReadonlySet<unknown> = new Set(AccessStatement.shape.kind.options);
/** As `toISOString` writes the time, on a day that there is in any year; the last of February in some of them is left to the schema. */
const TIME =
  /^\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

/**
 * True only of what the schema `AccessStatement` takes and gives back as it is; false says nothing, and the schema is to be asked. As `keys` writes statements, almost
 * all are. Of what came out of `JSON.parse`.
 */
export function isPlainStatement(value: unknown): value is AccessStatement {
  if (!isPlainObject(value) || Object.keys(value).length !== FIELDS) return false;
  const { version, tenantId, clusterId, tokenId, kind, user, rules, notBefore, openUntil, streamsUntil, serial } =
    value;
  return (
    version === 1 &&
    isText(tenantId, MAX_TENANT) &&
    [clusterId, tokenId, serial].every(isPlainUuid) &&
    KINDS.has(kind) &&
    isText(user, MAX_USER) &&
    NAME.test(user) &&
    !OF_KUBERNETES.test(user) &&
    Array.isArray(rules) &&
    rules.length <= MAX_RULES &&
    rules.every(isPlainRule) &&
    [notBefore, openUntil, streamsUntil].every(isPlainTime)
  );
}

function isText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= max;
}

function isPlainTime(value: unknown): boolean {
  return typeof value === 'string' && TIME.test(value);
}
