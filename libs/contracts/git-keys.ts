import { z } from 'zod';
import { ClusterId, ClusterName, IsoTime, UserName } from './primitives.js';
import { Revision, ifRevision } from './revision.js';
import { rpcOf } from './rpc.js';
import { HostPublicKey, RepositoryPath, SshPublicKey } from './git-primitives.js';

/** `github`, `gitlab`, `gitea` (Forgejo too): deploy keys by the host's API. `manual`: somebody adds them, and we try. */
export const GitHostKind = z.enum(['github', 'gitlab', 'gitea', 'manual']);
export type GitHostKind = z.infer<typeof GitHostKind>;

export const GitHostName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'a name is 1 to 63 lower-case letters, digits and dashes');

const sshHost = z
  .string()
  .regex(/^[a-zA-Z0-9]([a-zA-Z0-9.-]{0,251}[a-zA-Z0-9])?$/, 'expected a host name or an IPv4 address');

/** The management-side token: it goes in, is sealed, and comes out of `keys` no more. */
const GitToken = z.string().regex(/^[\x21-\x7e]{8,1000}$/, 'a token is 8 to 1000 printable characters without spaces');

/** A Git host, as an administrator configures it. */
export const PutGitHost = z.object({
  name: GitHostName,
  kind: GitHostKind,
  /** `https://…`, as people open it; null with `manual`. */
  url: z
    .url({ protocol: /^https$/ })
    .max(1_024)
    .nullable()
    .default(null),
  /** Where clusters fetch by SSH; the default is the host of `url`, port 22. */
  sshHost: sshHost.optional(),
  sshPort: z.int().min(1).max(65_535).default(22),
  /** PEM of a private authority of the API's certificate: then only it is trusted. */
  caPem: z.string().max(65_536).startsWith('-----BEGIN ').nullable().default(null),
  /** Absent: the one that is there stays. */
  token: GitToken.optional(),
  /** May repositories be made with it? Then its rights are checked for that too. */
  createRepositories: z.boolean().default(false),
});
export type PutGitHost = z.infer<typeof PutGitHost>;

export const RightFinding = z.object({
  verdict: z.enum(['granted', 'missing', 'too-wide', 'unverified']),
  right: z.string().max(128),
  why: z.string().max(512),
});

/** One host key that is pinned, or was seen and waits for an administrator. */
export const HostKey = z.object({
  type: z.string().max(64),
  /** `SHA256:…`, as ssh-keygen shows it. */
  fingerprint: z.string().max(64),
  key: HostPublicKey,
  /** `proposed`: seen, counts for nothing. `approved`: clusters trust it. `withdrawn`: approved once, not trusted any more. */
  state: z.enum(['proposed', 'approved', 'withdrawn']),
  firstSeenAt: IsoTime,
  lastSeenAt: IsoTime.nullable(),
  decidedBy: UserName.nullable(),
});
export type HostKey = z.infer<typeof HostKey>;

export const GitHost = z.object({
  id: z.uuid(),
  name: GitHostName,
  kind: GitHostKind,
  url: z.string().max(1_024).nullable(),
  sshHost,
  sshPort: z.int().min(1).max(65_535),
  createRepositories: z.boolean(),
  /** Is a token sealed? Never the token. */
  hasToken: z.boolean(),
  tokenExpiresAt: IsoTime.nullable(),
  /** Of the last check of the token's rights. */
  checkedAt: IsoTime.nullable(),
  findings: z.array(RightFinding).max(64),
  /** Why the host cannot be worked with at present; null: it can. */
  problem: z
    .object({ code: z.string().max(64), message: z.string().max(1_024), retryAt: IsoTime.nullable() })
    .nullable(),
  hostKeys: z.array(HostKey).max(64),
  /** Of what was said of it, and of its token; not of its host keys. */
  revision: Revision.default(''),
});
export type GitHost = z.infer<typeof GitHost>;

/** A cluster's public key in one repository. `by-hand`: `instructions` say what somebody has to do there. */
export const DeployKey = z.object({
  clusterId: ClusterId,
  repositoryId: z.uuid(),
  number: z.int().min(1).max(1_000_000),
  fingerprint: z.string().max(64),
  state: z.enum(['wanted', 'present', 'by-hand', 'refused', 'removing', 'removed']),
  instructions: z.string().max(4_096).nullable(),
  problem: z.object({ code: z.string().max(64), message: z.string().max(1_024) }).nullable(),
  /** When it was last seen on the host. */
  seenAt: IsoTime.nullable(),
  /** How often it was gone from the host and was put back. */
  restored: z.int().min(0),
});
export type DeployKey = z.infer<typeof DeployKey>;

const rpc = rpcOf('keys');

const ByName = z.object({ name: GitHostName });
/** Calls that ask the Git host itself: its own deadline is below this. */
const HOST_MS = 75_000;
const DeployKeyId = z.object({ clusterId: ClusterId, repositoryId: z.uuid(), number: z.int().min(1).max(1_000_000) });

/** What the keys service answers about Git hosts, their keys and the keys of clusters. It alone holds tokens. */
export const gitKeysRpc = {
  /** Makes or changes one. The token's rights are checked first: with one that is missing, GIT_RIGHTS_MISSING and nothing is stored. REVISION_CONFLICT. */
  putGitHost: rpc('put-git-host', ['api'], PutGitHost.extend({ actor: UserName, ...ifRevision }), GitHost, HOST_MS),
  listGitHosts: rpc('list-git-hosts', ['api', 'gitops'], z.object({}), z.object({ hosts: z.array(GitHost).max(64) })),
  /** CONFLICT while a catalog repository or deploy key needs it. */
  deleteGitHost: rpc('delete-git-host', ['api'], ByName.extend({ actor: UserName, ...ifRevision }), z.object({})),
  /** Asks the host for its SSH keys and proposes those that are new; approves nothing. */
  scanHostKeys: rpc('scan-host-keys', ['api'], ByName, GitHost, 30_000),
  /** Makes these the pinned set of the host, once for all clusters. NOT_FOUND: a fingerprint that was never seen or given. */
  approveHostKeys: rpc(
    'approve-host-keys',
    ['api'],
    ByName.extend({
      fingerprints: z.array(z.string().max(64)).min(1).max(16),
      /** Keys that are known from elsewhere (the host's documentation), so that no scan has to be believed. */
      keys: z.array(HostPublicKey).max(16).default([]),
      actor: UserName,
    }),
    GitHost,
  ),
  /** What is there, or is made if `create` and the host's rights allow it. NOT_FOUND, GIT_RIGHTS_MISSING. */
  openRepository: rpc(
    'open-repository',
    ['gitops'],
    z.object({ host: GitHostName, path: RepositoryPath, create: z.boolean(), branch: z.string().max(200).optional() }),
    z.object({
      hostId: z.uuid(),
      created: z.boolean(),
      sshUrl: z.string().max(1_024),
      defaultBranch: z.string().max(200).nullable(),
      /** Does somebody have to add deploy keys by hand? */
      keysByHand: z.boolean().default(false),
      /** Of `branch`; null: no such branch, or the host does not say. */
      head: z.string().max(64).nullable(),
    }),
    HOST_MS,
  ),
  /** This key is to be in the repository, read-only, until it is dropped. Answers at once; the host is asked in the background. */
  wantDeployKey: rpc(
    'want-deploy-key',
    ['gitops'],
    DeployKeyId.extend({
      hostId: z.uuid(),
      path: RepositoryPath,
      clusterName: ClusterName,
      publicKey: SshPublicKey,
    }),
    DeployKey,
  ),
  /** It is to be there no more. Only keys that we added are removed. */
  dropDeployKey: rpc('drop-deploy-key', ['gitops'], DeployKeyId, DeployKey),
  /** All of a repository, or of a cluster. */
  listDeployKeys: rpc(
    'list-deploy-keys',
    ['api', 'gitops'],
    z.object({
      repositoryId: z.uuid().optional(),
      clusterId: ClusterId.optional(),
      after: z.string().max(128).optional(),
    }),
    z.object({ keys: z.array(DeployKey).max(500), next: z.string().max(128).optional() }),
  ),
  /**
   * Signs a `DesiredState` of @fairlead/desired-state. Refuses what is not one, is of another tenant than the subject's or of a cluster that
   * is not its, older than what was signed for the cluster, or follows a Git host that is not the tenant's or has host keys nobody approved.
   */
  signDesiredState: rpc(
    'sign-desired-state',
    ['gitops'],
    z.object({ document: z.base64().max(48_000) }),
    z.object({
      document: z.base64().max(48_000),
      signerChain: z.array(z.string().max(16_384)).min(1).max(4),
      signature: z.base64().max(1_024),
      /** Of the signer's certificate: nobody believes it later, so it is signed again before. */
      notAfter: IsoTime,
    }),
  ),
} as const;
