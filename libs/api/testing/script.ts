import { randomBytes, randomUUID } from 'node:crypto';
import type {
  AccessRequest,
  ApiToken,
  ApprovalPolicy,
  Assignment,
  AuditEntry,
  Breaker,
  BootstrapToken,
  Bundle,
  CaStatus,
  CatalogRepository,
  CertificateRecord,
  Client,
  Cluster,
  ClusterGitOps,
  DeployKey,
  EndpointSet,
  EnrolmentRequest,
  GitHost,
  Grant,
  Issuer,
  KnownUser,
  Lockdown,
  OpenPassage,
  Principal,
  Rollout,
  Tenant,
} from '@fairlead/contracts';
import type { ObjectEvent } from '@fairlead/desired-state';
import type { TestAuthority } from '@fairlead/testing';
import { auditEntry } from './audit-entry.js';

/** A login of somebody, as far as the access service would keep it. */
export interface ScriptedLogin {
  readonly sessionHash: string;
  readonly issuer: string;
  readonly subject: string;
  readonly tokens: string[];
}

/**
 * Peers of the API that keep to the contracts and hold everything in memory: a test can make them fail, forget and fall
 * silent, which the real ones would not do on demand. They answer over a real NATS.
 */
export class Script {
  readonly token = randomBytes(32).toString('base64url');
  readonly principal: Principal = {
    user: 'admin',
    groups: ['fairlead:admins'],
    tenantId: 'default',
    tokenId: randomUUID(),
    kind: 'administrator',
    subjectGroups: [],
    administrator: true,
    auditor: false,
    expiresAt: null,
  };
  /** Others who are logged in, by their tokens. */
  readonly users = new Map<string, Principal>();
  logins: ScriptedLogin[] = [];
  /** ID tokens, each of which is taken once. */
  readonly exchanged = new Set<string>();
  /** Thrown by each login and renewal. */
  loginFailure: Error | undefined;
  /** How long tokens of logins live, and how long they are renewed. */
  loginSeconds = 900;
  sessionSeconds = 604_800;
  readonly grants = new Map<string, Grant>();
  readonly accessRequests = new Map<string, AccessRequest>();
  readonly apiTokens = new Map<string, ApiToken>();
  /** By cluster; of the tenant, by the empty name. */
  readonly lockdowns = new Map<string, Lockdown>();
  readonly issuers = new Map<string, Issuer>();
  /** Who has logged in. */
  readonly knownUsers: KnownUser[] = [];
  /** What the API asked the access service to explain. */
  readonly explained: object[] = [];
  /** What was asked for of statements, and what they are refused for. */
  readonly statementsAsked: { readonly cluster: string; readonly seconds?: number | undefined }[] = [];
  statementFailure: Error | undefined;
  /** How long statements open connections for. */
  statementSeconds = 1_800;
  /** By name, with those that were deleted. */
  readonly tenants = new Map<string, Tenant & { readonly deleted?: true }>();
  /** Tenants that the access service was to forget. */
  readonly forgotten: string[] = [];
  readonly clusters = new Map<string, Cluster>();
  /** What goes through the doors, and gateways that do not answer. */
  readonly passages: OpenPassage[] = [];
  readonly silentGateways: string[] = [];
  /** What was asked to be ended, by whom and why. */
  readonly passagesEnded: object[] = [];
  readonly clients = new Map<string, Client>();
  readonly certificates = new Map<string, CertificateRecord>();
  /** How many are on one page. */
  certificatesListed = 200;
  readonly requests = new Map<string, EnrolmentRequest>();
  /** By cluster; of the tenant, by the empty name. */
  readonly policies = new Map<string, ApprovalPolicy | null>();
  ca: CaStatus = { trustDomain: 'fairlead.local', trustVersion: 1, authorities: [], rotation: null };
  endpoints: EndpointSet = { trustVersion: 1, endpoints: [], clusters: 2, clustersTold: 1, revision: 'seen' };
  readonly tokens = new Map<string, BootstrapToken>();
  /** Who the API said asks for a revocation of a token. */
  readonly revokers: string[] = [];
  readonly links = new Map<string, string>();
  readonly gitHosts = new Map<string, GitHost>();
  /** What a scan of any Git host finds. */
  shownHostKeys: string[] = [];
  /** The tokens of Git hosts that arrived. */
  readonly gitTokens: string[] = [];
  readonly deployKeys: DeployKey[] = [];
  readonly repositories = new Map<string, CatalogRepository>();
  /** By tool and version. */
  readonly bundles = new Map<string, Bundle>();
  /** Bundles on their way, by their id; the pieces that came. */
  readonly uploads = new Map<string, Buffer[]>();
  /** Thrown for each piece of a bundle. */
  pieceFailure: Error | undefined;
  /** So many times more, whoever finishes an upload is told to come again. */
  busyFinishes = 0;
  /** Of the last upload. */
  bundleBytes = Buffer.alloc(0);
  readonly assignments = new Map<string, Assignment>();
  /** Thrown by each request to put an assignment. */
  assignmentFailure: Error | undefined;
  /** Done after each list of the assignments: what somebody else does at this moment. */
  meanwhile: () => void = () => undefined;
  /** What was to happen when assignments were removed. */
  readonly removals: string[] = [];
  readonly rollouts = new Map<string, Rollout>();
  breaker: Breaker = { state: 'closed', code: null, clusters: 0, of: 0, since: null };
  readonly statuses = new Map<string, ClusterGitOps>();
  gitopsEvents: ObjectEvent[] = [];
  /** Clusters whose deploy keys were to be rotated, and why. */
  readonly rotations: string[] = [];
  /** Clusters that have the key of each one whose key is compromised. */
  alsoReplaced: string[] = [];
  /** Clusters whose deploy keys are not to be rotated now. */
  readonly rotationsRefused = new Set<string>();
  /** Who the API said asks for changes about GitOps. */
  readonly actors: string[] = [];
  /** Who the API said asks registration for changes: of clusters that were made and deleted. */
  readonly clustersBy: (string | undefined)[] = [];
  /** Of every tenant, numbered from 1. */
  auditLog: AuditEntry[] = [1, 2, 3].map(auditEntry);
  /** Why what is behind this number cannot be read now. */
  auditFailure: (after: number) => Error | undefined = () => undefined;
  /** How often the access service was asked whose a token is. */
  authentications = 0;
  revoked = false;
  /** Thrown by the next request to registration, once. */
  nextFailure: Error | undefined;
  /** Clusters in one answer, and whatever else the access service lists. */
  pageSize = 100;
  /** How long serving certificates last. */
  certificateMs = 3_600_000;

  constructor(readonly authority: TestAuthority) {}
}
