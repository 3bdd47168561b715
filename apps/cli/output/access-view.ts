import { endText } from '../access/end.js';
import { narrowingText } from '../access/narrowing.js';
import { scopeText } from '../access/scope.js';
import { subjectText } from '../access/subject.js';
import type { AccessRequest, ApiToken, Grant } from '../session/access-answers.js';
import type { Cell } from './print.js';

/** `view, in shop`, `no delete pods in shop`, `the groups oncall`. */
export function whatText({
  effect,
  role,
  groups,
  narrowing,
  targets,
}: Pick<Grant, 'effect' | 'role' | 'groups' | 'narrowing' | 'targets'>): string {
  const narrowed = narrowingText(narrowing);
  if (effect === 'deny') return `no ${narrowed || 'access'}`;
  const reached = targets ? `targets ${targets.join(',')}` : '';
  return [role, groups.length > 0 ? `groups ${groups.join(',')}` : '', narrowed, reached].filter(Boolean).join(', ');
}

/** Of a list of grants, below GRANT_HEADING. */
export function grantRow(grant: Grant, now: Date): Cell[] {
  return [
    grant.id,
    subjectText(grant.subject),
    whatText(grant),
    scopeText(grant.clusters),
    untilCell(grant, now),
    grant.reason,
  ];
}
export const GRANT_HEADING = ['ID', 'WHO', 'WHAT', 'WHERE', 'UNTIL', 'REASON'];

/** One grant, for people. */
export function grantLines(grant: Grant, now: Date): string[] {
  const { impersonate, notBefore } = grant;
  const as = [...(impersonate?.users ?? []), ...(impersonate?.groups ?? []).map((group) => `group ${group}`)];
  return [
    `grant:    ${grant.id}`,
    `who:      ${subjectText(grant.subject)}`,
    `what:     ${whatText(grant)}`,
    ...(as.length > 0 ? [`as:       ${as.join(', ')}`] : []),
    `where:    ${scopeText(grant.clusters)}`,
    ...(notBefore === null ? [] : [`from:     ${notBefore}`]),
    `until:    ${textOf(untilCell(grant, now))}`,
    `why:      ${grant.reason}`,
    `made by:  ${grant.createdBy} at ${grant.createdAt}${grant.requestId === null ? '' : ', as they were asked to'}`,
  ];
}

/** Of a list of access requests, below REQUEST_HEADING. */
export function requestRow(request: AccessRequest): Cell[] {
  const { id, user, clusters, seconds, reason, decidedBy } = request;
  const what = whatText({ ...request, effect: 'allow', groups: [] });
  return [id, stateCell(request), user, what, scopeText(clusters), durationText(seconds), decidedBy ?? '', reason];
}
export const REQUEST_HEADING = ['ID', 'STATE', 'WHO', 'WHAT', 'WHERE', 'FOR', 'DECIDED BY', 'REASON'];

export function tokenStatus({ revokedAt, expiresAt }: ApiToken, now: Date): Cell {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  return hasEnded(expiresAt, now) ? 'expired' : { text: 'valid', colour: 'green' };
}

/** `2h`, `90m`, in the largest unit that says it whole. */
export function durationText(seconds: number): string {
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const) {
    if (seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

function stateCell({ state }: AccessRequest): Cell {
  return state === 'pending' ? { text: state, colour: 'yellow' } : state;
}

function untilCell({ notBefore, expiresAt }: Grant, now: Date): Cell {
  if (hasEnded(expiresAt, now)) return { text: `ended ${endText(expiresAt)}`, colour: 'red' };
  const isToCome = notBefore !== null && Date.parse(notBefore) > now.getTime();
  return isToCome ? { text: `from ${notBefore} until ${endText(expiresAt)}`, colour: 'yellow' } : endText(expiresAt);
}

function hasEnded(expiresAt: string | null, now: Date): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= now.getTime();
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text;
}
