import { FairleadError, type ErrorCode, type ErrorDetails } from '@fairlead/errors';
import type { Answer } from './exchange.js';
import { retryAfterMs } from './rate-limit.js';

/** The error that an answer means which the caller has no use for. `secrets` never get into it. */
export function answerError(answer: Answer, what: string, secrets: readonly string[], nowMs: number): FairleadError {
  const { status, headers } = answer;
  const hostSaid = hostText(answer.body, secrets);
  const wait = status === 503 ? retryAfterMs(headers, nowMs) : null;
  const details: ErrorDetails = {
    status,
    ...(hostSaid === undefined ? {} : { hostSaid }),
    ...(wait === null || wait < 0 ? {} : { retryAfterSeconds: Math.min(3_600, Math.ceil(wait / 1_000)) }),
    ...(status === 403 || status === 404 ? neededRights(answer) : {}),
  };
  const [code, message] = meaning(status);
  return new FairleadError(code, `${what}: ${message}`, { details });
}

export function rateLimited(untilMs: number, nowMs: number): FairleadError {
  const retryAt = new Date(untilMs).toISOString();
  const retryAfterSeconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000));
  const message = `the Git host wants no more requests until ${retryAt}`;
  return new FairleadError('RATE_LIMITED', message, { details: { retryAt, retryAfterSeconds } });
}

function meaning(status: number): [ErrorCode, string] {
  if (status >= 500) return ['UNAVAILABLE', `the Git host failed with ${status}`];
  if (status === 401) return ['GIT_TOKEN_REFUSED', 'the Git host does not accept the token: it expired or was revoked'];
  if (status === 403) return ['GIT_RIGHTS_MISSING', 'the Git host does not let this token do that'];
  if (status === 404) return ['NOT_FOUND', 'there is no such thing on the Git host, or the token may not see it'];
  if (status === 408) return ['UNAVAILABLE', 'the Git host gave up waiting'];
  if (status === 409) return ['CONFLICT', 'it is in conflict with what is on the Git host'];
  if (status === 410 || status === 451) return ['GONE', 'the Git host no longer has it'];
  if (status === 400 || status === 422) return ['INVALID_ARGUMENT', 'the Git host does not accept it'];
  return ['PROTOCOL_ERROR', `the Git host answered ${status}`];
}

// What a host says that it would have needed: GitHub for classic tokens, for fine-grained ones, and for single sign-on.
const RIGHT_HEADERS = {
  'x-accepted-oauth-scopes': 'acceptedScopes',
  'x-accepted-github-permissions': 'acceptedPermissions',
} as const;

function neededRights({ headers, body }: Answer): ErrorDetails {
  const said = Object.entries(RIGHT_HEADERS).flatMap(([header, name]) => {
    const value = headers[header];
    return value !== undefined && /^[\w:=,; -]{1,200}$/.test(value) ? [[name, value] as const] : [];
  });
  const sso = headers['x-github-sso']?.startsWith('required') ? { singleSignOn: 'required' } : {};
  // GitLab: {"error": "insufficient_scope", "scope": "api"}.
  const scope = typeof body === 'object' && body !== null && 'scope' in body ? body.scope : undefined;
  const scopes = typeof scope === 'string' && /^[\w ]{1,100}$/.test(scope) ? { acceptedScopes: scope } : {};
  return { ...Object.fromEntries(said), ...scopes, ...sso };
}

const MAX_CHARS = 200;

/**
 * What a host said about an error, fit to be shown: one short line without control characters and without our secrets, which a
 * host may well repeat. Undefined if it said nothing. Never decided upon: texts change.
 */
export function hostText(body: unknown, secrets: readonly string[]): string | undefined {
  const parts = textsOf(body).join(': ');
  if (parts === '') return undefined;
  // Secrets first: cut in two they would no longer be found.
  const clean = redact(parts.slice(0, 20_000), secrets)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean.length > MAX_CHARS ? `${clean.slice(0, MAX_CHARS)}…` : clean || undefined;
}

function redact(text: string, secrets: readonly string[]): string {
  const spellings = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);
  return spellings.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
}

/** `message`, `error` and what is in `errors`: GitHub's, GitLab's and Gitea's ways to say it. */
function textsOf(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  const { message, error, error_description: description, errors } = body as Record<string, unknown>;
  const inner = Array.isArray(errors) ? errors.slice(0, 5) : [];
  const said = [message, error, description, ...inner.map((entry: unknown) => innerText(entry))];
  return said.flatMap((value) => {
    if (typeof value === 'string') return [value];
    return typeof value === 'object' && value !== null ? fieldTexts(value) : [];
  });
}

/** GitLab's validation errors: {"message": {"field": ["what is wrong"]}}. Of anything deeper nothing is read. */
function fieldTexts(fields: object): string[] {
  return Object.entries(fields)
    .slice(0, 5)
    .map(([field, wrong]: [string, unknown]) => {
      const texts = (Array.isArray(wrong) ? wrong.slice(0, 5) : [wrong]).filter((text) => typeof text === 'string');
      return [field.slice(0, 100), ...texts].join(' ');
    });
}

function innerText(entry: unknown): unknown {
  return typeof entry === 'object' && entry !== null && 'message' in entry ? entry.message : entry;
}
