/** How long kubectl and long-running tools keep the token before they ask again: a changed login is soon picked up. */
const KEEP_MS = 60_000;

/** What an exec plugin prints for kubectl (client.authentication.k8s.io/v1). */
export function execCredential(token: string, now: Date): object {
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token, expirationTimestamp: new Date(now.getTime() + KEEP_MS).toISOString() },
  };
}
