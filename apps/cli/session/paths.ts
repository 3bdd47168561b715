/** The name is checked by the server; here it only must not become another path. */
export function clusterPath(name: string): string {
  return `/v1/clusters/${encodeURIComponent(name)}`;
}
