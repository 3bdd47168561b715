import { z } from 'zod';
import type { RightFinding, RightsReport, RightsSpec } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { shortText } from './host-api.js';
import { verdictOnKeys } from './github-like-calls.js';

const userShape = z.object({ login: shortText, is_admin: z.boolean().optional() });

// A scope for each part of the API (https://docs.gitea.com/development/oauth2-provider#scopes), and one small request for each.
const NEEDLESS = [
  { right: 'read:admin', path: '/admin/cron', why: 'nothing of the instance is administered' },
  { right: 'read:notification', path: '/notifications/new', why: 'no notification is read' },
  { right: 'read:issue', path: '/repos/issues/search', why: 'no issue is read' },
];

/**
 * A token of Gitea tells nothing of itself: each scope is found by a request that changes nothing.
 */
export async function giteaRights(
  http: GitHttp,
  repository: string | null,
  spec: RightsSpec,
  signal: AbortSignal,
): Promise<RightsReport> {
  const what = "check the token's rights";
  const me = await http.send({ what, path: '/user', expect: [200, 403] }, signal);
  const user = me.status === 200 ? readAs(userShape, me.body, what) : null;
  const findings: RightFinding[] = [];
  if (user?.is_admin === true)
    findings.push({ verdict: 'too-wide', right: 'administrator', why: 'reaches every repository of the instance' });
  findings.push(await writesKeys(http, repository, signal));
  for (const { right, path, why } of NEEDLESS)
    if (await allows(http, path, signal)) findings.push({ verdict: 'too-wide', right, why });
  findings.push(...(await organisations(http, spec, user !== null, signal)));
  return { account: user?.login ?? null, expiresAt: null, findings };
}

async function writesKeys(http: GitHttp, repository: string | null, signal: AbortSignal): Promise<RightFinding> {
  const right = 'write:repository';
  if (repository === null) return { verdict: 'unverified', right, why: 'found out with a repository only' };
  const why = 'reads, adds and removes deploy keys; its user has to administer the repository';
  return { verdict: await verdictOnKeys(http, repository, signal), right, why };
}

async function organisations(
  http: GitHttp,
  { repository, createRepositories }: RightsSpec,
  readsUser: boolean,
  signal: AbortSignal,
): Promise<RightFinding[]> {
  const why = 'makes repositories in organisations';
  const writes = { right: 'write:organization', why: `${why}; that it may write is not to be proved without doing it` };
  if (repository === undefined) return createRepositories ? [{ verdict: 'unverified', ...writes }] : [];
  const reads = await reachesOrganisation(http, repository.owner, signal);
  if (!createRepositories)
    return reads ? [{ verdict: 'too-wide', right: 'read:organization', why: `needed only by what ${why}` }] : [];
  const whose = 'whether a repository is for the user or for an organisation';
  return [
    { verdict: readsUser ? 'granted' : 'missing', right: 'read:user', why: whose },
    { verdict: reads ? 'unverified' : 'missing', ...writes },
  ];
}

/** The scope is looked at first: without it the answer is 403, with it 200, or 404 for what is no organisation. */
async function reachesOrganisation(http: GitHttp, owner: string, signal: AbortSignal): Promise<boolean> {
  const what = "check the token's rights";
  const expect = [200, 403, 404];
  const answer = await http.send({ what, path: `/orgs/${encodeURIComponent(owner)}`, expect }, signal);
  return answer.status !== 403;
}

async function allows(http: GitHttp, path: string, signal: AbortSignal): Promise<boolean> {
  const expect = [200, 403, 404];
  const answer = await http.send({ what: "check the token's rights", path, query: 'limit=1', expect }, signal);
  return answer.status === 200;
}
