import { randomUUID } from 'node:crypto';
import type { BootstrapToken, CertificateRecord, EnrolmentRequest } from '@fairlead/contracts';

/** An agent without a token that waits. */
export function waitingAgent(changes: Partial<EnrolmentRequest> = {}): EnrolmentRequest {
  const at = '2026-11-01T00:00:00.000Z';
  return {
    id: randomUUID(),
    tenantId: 'default',
    state: 'pending',
    fingerprint: 'ab'.repeat(32),
    cluster: null,
    facts: {
      agentVersion: '0.1.0',
      kubernetesVersion: 'v1.34.4+k3s1',
      platform: 'linux/amd64',
      distribution: 'k3s',
      provider: 'aws',
      nodes: { total: 3, ready: 2 },
      capabilities: ['link:facts', 'rbac:impersonate-users', 'rbac:list-nodes'],
    },
    remoteAddress: '192.0.2.1',
    createdAt: at,
    lastAskedAt: at,
    expiresAt: at,
    decidedAt: null,
    reason: null,
    ...changes,
  };
}

/** A token that nobody has used. */
export function bootstrapToken(cluster: string, changes: Partial<BootstrapToken> = {}): BootstrapToken {
  const [createdAt, expiresAt] = ['2026-11-01T00:00:00.000Z', '2999-11-01T01:00:00.000Z'];
  const unused = { state: 'unused', createdAt, expiresAt, revokedAt: null, usedBy: null } as const;
  return { id: randomUUID(), tenantId: 'default', cluster, ...unused, ...changes };
}

/** Two that a gateway has, neither ended nor revoked. */
export function gatewayCertificates(): CertificateRecord[] {
  return ['0e', '0f'].map((byte) => ({
    serial: byte.repeat(16),
    purpose: 'gateway',
    names: ['spiffe://x/gateway/gateway-a'],
    generation: null,
    notBefore: '2026-11-01T00:00:00.000Z',
    notAfter: '2999-11-02T00:00:00.000Z',
    revokedAt: null,
    revokedFor: null,
  }));
}
