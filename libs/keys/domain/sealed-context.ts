/** What each sealed secret is sealed for; it opens as nothing else. Never changed: what stands was sealed for it. */
export const sealedContext = {
  authority: (id: string, kind: string): string => `${id}:${kind}`,
  issuingRequest: (spkiSha256: string): string => `${spkiSha256}:issuing-request`,
  auditLog: (tenantId: string): string => `${tenantId}:audit-log`,
  webhookSecret: (secretId: string): string => `${secretId}:webhook-secret`,
  gitToken: (hostId: string): string => `${hostId}:git-token`,
};
