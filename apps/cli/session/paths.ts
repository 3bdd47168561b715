/** The name is checked by the server; here it only must not become another path. */
export function clusterPath(name: string): string {
  return `/v1/clusters/${encodeURIComponent(name)}`;
}

/** Likewise for anything else that has a name: `itemPath('/v1/git-hosts', name)`. */
export function itemPath(list: string, ...names: string[]): string {
  return [list, ...names.map((name) => encodeURIComponent(name))].join('/');
}
