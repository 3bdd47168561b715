import { z } from 'zod';
import type { RightFinding, RightsReport, RightsSpec } from '../git-host.js';
import type { Answer } from '../http/exchange.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { shortText } from './host-api.js';
import { verdictOnKeys } from './github-like-calls.js';

const userShape = z.object({ login: shortText });

// Scopes that are a part of `repo`: https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/scopes-for-oauth-apps
const REPO_PARTS = new Set(['repo', 'repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events']);

// What a fine-grained token has no need of, and what may be read with it, each by one small request.
const NEEDLESS = [
  { right: 'webhooks=read', path: '/hooks', why: 'no webhook is read or made' },
  { right: 'secrets=read', path: '/actions/secrets', why: "no Actions' secret is read or made" },
  { right: 'variables=read', path: '/actions/variables', why: "no Actions' variable is read or made" },
];

/**
 * A classic token's scopes stand in every answer (`X-OAuth-Scopes`). A fine-grained one's permissions are told nowhere: each is
 * found by a request that changes nothing.
 */
export async function githubRights(
  http: GitHttp,
  repository: string | null,
  spec: RightsSpec,
  signal: AbortSignal,
): Promise<RightsReport> {
  const what = "check the token's rights";
  // An app's token acts as no user: 403.
  const me = await http.send({ what, path: '/user', expect: [200, 403] }, signal);
  const scopes = me.headers['x-oauth-scopes'];
  const findings =
    scopes === undefined
      ? await fineGrained(http, repository, spec, signal)
      : await classic(http, scopes, repository, signal);
  return {
    account: me.status === 200 ? readAs(userShape, me.body, what).login : null,
    expiresAt: expiry(me),
    findings,
  };
}

async function classic(
  http: GitHttp,
  header: string,
  repository: string | null,
  signal: AbortSignal,
): Promise<RightFinding[]> {
  const scopes = header.split(',').flatMap((scope) => scope.trim().slice(0, 100) || []);
  const findings: RightFinding[] = scopes
    .filter((scope) => !REPO_PARTS.has(scope))
    .map((right) => ({ verdict: 'too-wide', right, why: 'nothing here needs it' }));
  if (!scopes.includes('repo'))
    return [...findings, { verdict: 'missing', right: 'repo', why: 'deploy keys of private repositories' }];
  findings.push({ verdict: 'granted', right: 'repo', why: 'repositories and their deploy keys' });
  const why = 'a classic token reaches every repository of its user: a fine-grained one is for chosen ones';
  findings.push({ verdict: 'too-wide', right: 'repo', why });
  return repository === null ? findings : [...findings, ...(await administration(http, repository, signal))];
}

async function fineGrained(
  http: GitHttp,
  repository: string | null,
  spec: RightsSpec,
  signal: AbortSignal,
): Promise<RightFinding[]> {
  const findings: RightFinding[] = [];
  if (repository !== null) {
    findings.push(...(await administration(http, repository, signal)), await contents(http, repository, signal));
    for (const { right, path, why } of NEEDLESS)
      if (await allows(http, `${repository}${path}`, signal)) findings.push({ verdict: 'too-wide', right, why });
  } else {
    findings.push({ verdict: 'unverified', right: 'administration=write', why: 'found out with a repository only' });
  }
  if (spec.createRepositories) {
    const why = 'making a repository needs it for the owner, and GitHub does not tell';
    findings.push({ verdict: 'unverified', right: 'administration=write', why });
  }
  return findings;
}

async function administration(http: GitHttp, repository: string, signal: AbortSignal): Promise<RightFinding[]> {
  const verdict = await verdictOnKeys(http, repository, signal);
  return [{ verdict, right: 'administration=write', why: 'reads, adds and removes deploy keys' }];
}

async function contents(http: GitHttp, repository: string, signal: AbortSignal): Promise<RightFinding> {
  const verdict = (await allows(http, `${repository}/branches`, signal)) ? 'granted' : 'missing';
  return { verdict, right: 'contents=read', why: "looks up a branch's commit" };
}

async function allows(http: GitHttp, path: string, signal: AbortSignal): Promise<boolean> {
  const expect = [200, 403, 404, 409];
  const answer = await http.send({ what: "check the token's rights", path, query: 'per_page=1', expect }, signal);
  return answer.status === 200;
}

/** `2026-12-31 23:59:59 UTC`, or with an offset; https://github.blog/changelog/2021-07-26-expiration-options-for-personal-access-tokens/ */
function expiry({ headers }: Answer): Date | null {
  const text = headers['github-authentication-token-expiration'] ?? '';
  const [, day, time, zone] = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (UTC|[+-]\d{4})$/.exec(text) ?? [];
  if (day === undefined) return null;
  const at = new Date(`${day}T${time}${zone === 'UTC' ? 'Z' : `${zone?.slice(0, 3)}:${zone?.slice(3)}`}`);
  return Number.isNaN(at.getTime()) ? null : at;
}
