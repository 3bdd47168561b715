import { randomBytes, randomUUID } from 'node:crypto';
import type {
  ApprovalPolicy,
  CaStatus,
  BootstrapToken,
  CertificateRecord,
  Client,
  Cluster,
  EnrolmentRequest,
  Principal,
} from '@fairlead/contracts';
import type { TestAuthority } from '@fairlead/testing';

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
  };
  readonly clusters = new Map<string, Cluster>();
  readonly clients = new Map<string, Client>();
  readonly certificates = new Map<string, CertificateRecord>();
  /** How many are on one page. */
  certificatesListed = 200;
  readonly requests = new Map<string, EnrolmentRequest>();
  /** By cluster; of the tenant, by the empty name. */
  readonly policies = new Map<string, ApprovalPolicy | null>();
  ca: CaStatus = { trustDomain: 'fairlead.local', trustVersion: 1, authorities: [], rotation: null };
  readonly tokens = new Map<string, BootstrapToken>();
  /** Who the API said asks for a revocation of a token. */
  readonly revokers: string[] = [];
  readonly links = new Map<string, string>();
  /** How often registration was asked whose a token is. */
  authentications = 0;
  revoked = false;
  /** Thrown by the next request to registration, once. */
  nextFailure: Error | undefined;
  /** Clusters in one answer. */
  pageSize = 100;
  /** How long serving certificates last. */
  certificateMs = 3_600_000;

  constructor(readonly authority: TestAuthority) {}
}
