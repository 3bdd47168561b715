/** What is counted together, of whoever asks: a user name or id is unique within its tenant only, and no tenant is to use up what another one has. */
export function limitKey(tenantId: string, id: string): string {
  return `${tenantId} ${id}`;
}
