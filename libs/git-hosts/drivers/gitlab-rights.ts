import { z } from 'zod';
import type { RightFinding, RightsReport, RightsSpec } from '../git-host.js';
import { readAs, type GitHttp } from '../http/git-http.js';
import { hostId, shortText } from './host-api.js';

// https://docs.gitlab.com/api/personal_access_tokens/#get-details-on-a-personal-access-token; a project's or group's too.
const tokenShape = z.object({
  scopes: z.array(z.string().max(100)).max(100),
  expires_at: z.iso.date().nullish(),
});
// https://docs.gitlab.com/api/users/#get-the-current-user; `is_admin` is shown to administrators only.
const userShape = z.object({
  id: hostId,
  username: shortText,
  bot: z.boolean().optional(),
  is_admin: z.boolean().optional(),
});
const access = z.object({ access_level: z.number().int() }).nullish();
const projectShape = z.object({ permissions: z.object({ project_access: access, group_access: access }).nullish() });

// https://docs.gitlab.com/user/profile/personal_access_tokens/#personal-access-token-scopes: parts of `api`, and rotating itself.
const PARTS = new Set(['api', 'read_api', 'read_user', 'read_repository', 'self_rotate']);
// Scopes of other things there are; of one that is neither here nor there (a fine-grained token) nothing is concluded.
const NEEDLESS = new Set(
  'write_repository read_registry write_registry read_virtual_registry write_virtual_registry sudo admin_mode create_runner manage_runner ai_features k8s_proxy read_service_ping'.split(
    ' ',
  ),
);
// https://docs.gitlab.com/api/access_requests/#valid-access-levels
const MAINTAINER = 40;

/** A token of GitLab tells its own scopes; its role is the project's to tell. There is no scope for deploy keys alone. */
export async function gitlabRights(
  http: GitHttp,
  project: string | null,
  spec: RightsSpec,
  signal: AbortSignal,
): Promise<RightsReport> {
  const what = "check the token's rights";
  // 403: the token has no scope that may read this. 404: it is of another kind, or the instance is old.
  const own = await http.send({ what, path: '/personal_access_tokens/self', expect: [200, 403, 404] }, signal);
  const token = own.status === 200 ? readAs(tokenShape, own.body, what) : null;
  const findings = scopeFindings(token?.scopes, own.status);
  if (findings.some(({ verdict }) => verdict === 'missing'))
    return { account: null, expiresAt: expiry(token), findings };
  const me = await http.send({ what, path: '/user', expect: [200, 403] }, signal);
  const user = me.status === 200 ? readAs(userShape, me.body, what) : null;
  if (user) findings.push(...userFindings(user));
  if (project !== null) findings.push(...(await roleFindings(http, project, signal)));
  if (spec.createRepositories) {
    const why = 'making a project needs it in the group, and GitLab does not tell before';
    findings.push({ verdict: 'unverified', right: 'Maintainer of the group', why });
  }
  return { account: user?.username ?? null, expiresAt: expiry(token), findings };
}

function scopeFindings(scopes: readonly string[] | undefined, status: number): RightFinding[] {
  const api = 'reads, adds and removes deploy keys: there is no narrower scope for them';
  if (scopes === undefined) return [{ verdict: status === 403 ? 'missing' : 'unverified', right: 'api', why: api }];
  const other = scopes.filter((scope) => !PARTS.has(scope));
  const unknown = other.filter((scope) => !NEEDLESS.has(scope));
  const without = unknown.length > 0 ? 'unverified' : 'missing';
  return [
    { verdict: scopes.includes('api') ? 'granted' : without, right: 'api', why: api },
    ...other.map((right): RightFinding => {
      if (unknown.includes(right)) return { verdict: 'unverified', right, why: 'what it allows is not known here' };
      return { verdict: 'too-wide', right, why: 'nothing here needs it' };
    }),
  ];
}

function userFindings({ bot, is_admin: isAdmin }: z.infer<typeof userShape>): RightFinding[] {
  const findings: RightFinding[] = [];
  if (isAdmin === true)
    findings.push({ verdict: 'too-wide', right: 'administrator', why: 'reaches every project of the instance' });
  if (bot === false) {
    const why = "reaches every project of its user: a project's or group's access token reaches that project or group";
    findings.push({ verdict: 'too-wide', right: 'personal access token', why });
  }
  return findings;
}

async function roleFindings(http: GitHttp, project: string, signal: AbortSignal): Promise<RightFinding[]> {
  const what = "check the token's rights";
  const why = 'reads, adds and removes deploy keys';
  // The list is the proof: a role that came by a shared group is not in `permissions`.
  const path = `${project}/deploy_keys`;
  const listed = await http.send({ what, path, query: 'per_page=1', expect: [200, 403, 404] }, signal);
  if (listed.status !== 200) return [{ verdict: 'missing', right: 'Maintainer of the project', why }];
  const answer = await http.send({ what, path: project, expect: [200] }, signal);
  const { permissions } = readAs(projectShape, answer.body, what);
  const level = Math.max(permissions?.project_access?.access_level ?? 0, permissions?.group_access?.access_level ?? 0);
  const granted: RightFinding = { verdict: 'granted', right: 'Maintainer of the project', why };
  return level > MAINTAINER
    ? [granted, { verdict: 'too-wide', right: 'Owner of the project', why: 'Maintainer is enough' }]
    : [granted];
}

const expiry = (token: z.infer<typeof tokenShape> | null): Date | null =>
  token?.expires_at ? new Date(`${token.expires_at}T00:00:00Z`) : null;
