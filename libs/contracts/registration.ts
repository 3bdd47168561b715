import { z } from 'zod';
import {
  Base64,
  ClientName,
  ClusterId,
  ClusterName,
  Generation,
  IsoTime,
  MAX_CLUSTER_NAMES,
  Manifest,
  PemChain,
  RevocationReason,
  TenantId,
  UserName,
} from './primitives.js';
import { Cluster, ClusterChange, ClusterFilter, CreateCluster } from './cluster.js';
import {
  ApprovalPolicy,
  BootstrapToken,
  Enrol,
  EnrolmentRequest,
  FingerprintStart,
  IssuedIdentity,
  NewIdentity,
} from './enrol.js';
import { ClusterFacts, MAX_CLUSTER_FACTS } from './facts.js';
import { LinkProblem, MAX_LINK_PROBLEMS } from './presence.js';
import { EndedPassages, PassageEnd, PassageFilter, PassageList, PassagePage } from './open-passages.js';
import { EnrolmentPlaceText, TextPlace } from './place.js';
import { ifRevision } from './revision.js';
import { rpcOf } from './rpc.js';
import { Tenant, TenantQuotas } from './tenants.js';

const ByName = z.object({ name: ClusterName });
const TenantByName = z.object({ name: TenantId });

/** Whoever asked for it at the API, for the event of it; absent: an API of before. */
const by = UserName.optional();

const rpc = rpcOf('registration');

/** A program, such as a kube-apiserver or Prometheus, that reaches targets in clusters through the CONNECT door. */
export const Client = z.object({
  id: z.uuid(),
  tenantId: TenantId,
  name: ClientName,
  /** Names of the clusters of which it may reach all targets, whatever is granted to it; null: every cluster of the tenant, those to come included. */
  clusters: z.array(ClusterName).max(256).nullable(),
  createdAt: IsoTime,
  /** Of its newest certificate; null: it has none yet. */
  notAfter: IsoTime.nullable(),
});
export type Client = z.infer<typeof Client>;

/** What the registration service answers. */
export const registrationRpc = {
  /** ALREADY_EXISTS: also one that was deleted, since names are not used again. Subject tenant of these five: NO_TENANT. */
  createTenant: rpc('create-tenant', ['api'], TenantByName.extend({ quotas: TenantQuotas, by: UserName }), Tenant),
  /** By name. `next` is there if there may be more: pass it as `after`. */
  listTenants: rpc(
    'list-tenants',
    ['api'],
    z.object({ after: TenantId.optional() }),
    z.object({ tenants: z.array(Tenant).max(500), next: TenantId.optional() }),
  ),
  /** NOT_FOUND; so is one that was deleted. */
  getTenant: rpc('get-tenant', ['api', 'access'], TenantByName, Tenant),
  /** NOT_FOUND, REVISION_CONFLICT; INVALID_ARGUMENT for the default one, which has no quotas. */
  updateTenant: rpc(
    'update-tenant',
    ['api'],
    TenantByName.extend({ quotas: TenantQuotas, by: UserName, ...ifRevision }),
    Tenant,
  ),
  /** Nothing is added to it from then on. Again: no change. CONFLICT while it has clusters or clients; NOT_FOUND; INVALID_ARGUMENT for the default one. */
  deleteTenant: rpc('delete-tenant', ['api'], TenantByName.extend({ by: UserName }), z.object({})),
  /** ALREADY_EXISTS if the name is taken in the installation; QUOTA_EXCEEDED. */
  createCluster: rpc('create-cluster', ['api'], CreateCluster.extend({ by }), Cluster),
  /**
   * By name, as many as fit in one answer, or fewer; `next` is there if there may be more: pass it as `after`. With `names`, only those of these, and
   * `next` is one of them.
   */
  listClusters: rpc(
    'list-clusters',
    ['api'],
    ClusterFilter.extend({
      after: ClusterName.optional(),
      names: z.array(ClusterName).max(MAX_CLUSTER_NAMES).optional(),
    }),
    z.object({ clusters: z.array(Cluster).max(10_000), next: ClusterName.optional() }),
  ),
  getCluster: rpc('get-cluster', ['api'], ByName, Cluster),
  /** What runs in the cluster is not touched: a new import manifest has to be applied, which its agent outlives. NOT_FOUND, REVISION_CONFLICT. */
  updateCluster: rpc('update-cluster', ['api'], ByName.extend({ ...ClusterChange.shape, ...ifRevision, by }), Cluster),
  /** Its tokens and links die with it, and gateways forget it. NOT_FOUND, REVISION_CONFLICT. */
  deleteCluster: rpc('delete-cluster', ['api'], ByName.extend({ ...ifRevision, by }), z.object({})),
  /**
   * Whatever the cluster's enrolments so far have is worth nothing from then on, and neither are its unused tokens and
   * links; a new import manifest brings it back. Again: no change. DEADLINE_EXCEEDED, UNAVAILABLE: ask again.
   */
  revokeCluster: rpc(
    'revoke-cluster',
    ['api'],
    z.object({ name: ClusterName, reason: RevocationReason, by }),
    Cluster,
    10_000,
  ),
  /** A code for one GET. Only its hash is stored. */
  createImportLink: rpc(
    'create-import-link',
    ['api'],
    ByName.extend({ by }),
    z.object({ code: z.string().min(32).max(128), expiresAt: IsoTime }),
  ),
  /**
   * Spends the code, mints the bootstrap token and renders the manifest, in one transaction. NOT_FOUND: unknown;
   * GONE: expired or spent. Subject tenant: NO_TENANT.
   */
  redeemImportLink: rpc(
    'redeem-import-link',
    ['api'],
    z.object({ code: z.string().min(1).max(128) }),
    z.object({ manifest: Manifest }),
  ),
  /** Adds an installer to a cluster that was imported without one. It holds no secret. NOT_FOUND. */
  installerManifest: rpc('installer-manifest', ['api'], ByName, z.object({ manifest: Manifest })),
  /** Of one cluster, newest first, as many as fit in one answer; `next` is there if there are more: pass it as `after`. */
  listBootstrapTokens: rpc(
    'list-bootstrap-tokens',
    ['api'],
    ByName.extend({ after: TextPlace.optional() }),
    z.object({ tokens: z.array(BootstrapToken).max(200), next: TextPlace.optional() }),
  ),
  /** Nobody gets an identity by it from then on; what it enrolled keeps its own. Again: no change. NOT_FOUND. */
  revokeBootstrapToken: rpc(
    'revoke-bootstrap-token',
    ['api'],
    z.object({ name: ClusterName, id: z.string().min(1).max(64), by: UserName }),
    BootstrapToken,
  ),
  /**
   * Registers a client and certifies its key; for a known name, with the same clusters, it certifies another key.
   * ALREADY_EXISTS if the name is known with other clusters; NOT_FOUND for an unknown cluster; CSR_INVALID; QUOTA_EXCEEDED.
   */
  createClient: rpc(
    'create-client',
    ['api'],
    z.object({ name: ClientName, clusters: z.array(ClusterName).max(256).nullable(), csr: Base64, by }),
    z.object({ client: Client, chain: PemChain, roots: PemChain }),
    10_000,
  ),
  /** By name, as many as fit in one answer; `next` is there if there are more: pass it as `after`. */
  listClients: rpc(
    'list-clients',
    ['api'],
    z.object({ after: ClientName.optional() }),
    z.object({ clients: z.array(Client).max(500), next: ClientName.optional() }),
  ),
  /** Its certificates are worth nothing from then on. */
  deleteClient: rpc('delete-client', ['api'], z.object({ name: ClientName, by }), z.object({})),
  /**
   * An identity that an administrator takes to an agent: a new enrolment, which fences the one before. NOT_FOUND,
   * CSR_INVALID; UNAVAILABLE: the cluster goes on as before; DEADLINE_EXCEEDED: it may have happened, ask again.
   */
  issueIdentity: rpc('issue-identity', ['api'], NewIdentity, IssuedIdentity, 12_000),
  /**
   * Those with a token first, then newest first, as many as fit in one answer; of one state, and of keys whose fingerprint begins so, if these are
   * given. `next` is there if there are more: pass it as `after`.
   */
  listEnrolmentRequests: rpc(
    'list-enrolment-requests',
    ['api'],
    z.object({
      state: EnrolmentRequest.shape.state.optional(),
      fingerprint: FingerprintStart.optional(),
      after: EnrolmentPlaceText.optional(),
    }),
    z.object({ requests: z.array(EnrolmentRequest).max(500), next: EnrolmentPlaceText.optional() }),
  ),
  /**
   * Lets the agent have an identity, which it fetches when it asks next: of the cluster whose token it showed, or of the named
   * one, which is created if there is none. NOT_FOUND; CONFLICT if it was decided before, or is of another cluster;
   * INVALID_ARGUMENT if no cluster is named for an agent without a token.
   */
  approveEnrolment: rpc(
    'approve-enrolment',
    ['api'],
    z.object({ id: z.uuid(), cluster: ClusterName.optional(), by }),
    EnrolmentRequest,
  ),
  /** The agent is told the reason, and asks rarely from then on. NOT_FOUND; CONFLICT if it was approved. */
  rejectEnrolment: rpc(
    'reject-enrolment',
    ['api'],
    z.object({ id: z.uuid(), reason: z.string().min(1).max(256), by }),
    EnrolmentRequest,
  ),
  /** The policy of a cluster, or of the tenant; `effective` is what counts, `set` what was chosen here. */
  getApprovalPolicy: rpc(
    'get-approval-policy',
    ['api'],
    z.object({ cluster: ClusterName.optional() }),
    z.object({ set: ApprovalPolicy.nullable(), effective: ApprovalPolicy }),
  ),
  /** Null: as above it decides (cluster, then tenant, then configuration). FORBIDDEN for a policy that needs a flag. */
  setApprovalPolicy: rpc(
    'set-approval-policy',
    ['api'],
    z.object({ cluster: ClusterName.optional(), policy: ApprovalPolicy.nullable(), by }),
    z.object({ set: ApprovalPolicy.nullable(), effective: ApprovalPolicy }),
  ),
  /** The manifest of an agent that has no token and waits to be adopted. */
  adoptionManifest: rpc('adoption-manifest', ['api'], z.object({}), z.object({ manifest: Manifest })),
  /** What went wrong with links at the calling gateway. Subject tenant: NO_TENANT, because these are many clusters. */
  reportLinkProblems: rpc(
    'report-troubles',
    ['gateway'],
    z.object({ troubles: z.array(LinkProblem).max(MAX_LINK_PROBLEMS) }),
    z.object({}),
  ),
  /**
   * What agents say of their clusters. Only of the current enrolment, and only what differs from what is known, is kept and told.
   * Subject tenant: NO_TENANT.
   */
  reportFacts: rpc(
    'report-facts',
    ['gateway'],
    z.object({ clusters: z.array(ClusterFacts).min(1).max(MAX_CLUSTER_FACTS) }),
    z.object({}),
    10_000,
  ),
  /** What goes through the doors of all gateways for a tenant now, in pages, and which gateways did not answer. */
  listPassages: rpc('list-passages', ['api'], PassagePage, PassageList),
  /** Ends all of them that are meant. `ended` none and nobody silent: there is none. */
  endPassages: rpc('end-passages', ['api'], PassageFilter.extend(PassageEnd.shape), EndedPassages),
  /** Spends a bootstrap token for a certificate. Subject tenant: NO_TENANT, because only the token tells it. */
  enrol: rpc(
    'enrol',
    ['gateway'],
    Enrol,
    z.object({
      tenantId: TenantId,
      clusterId: ClusterId,
      generation: Generation,
      chain: PemChain,
      roots: PemChain,
    }),
    10_000,
  ),
} as const;
