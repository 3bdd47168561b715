import { ClusterList, type Cluster } from './answers.js';
import type { ApiClient } from './api-client.js';

/** All pages of the clusters. A server that turns in circles is left. */
export async function allClusters(api: ApiClient): Promise<Cluster[]> {
  const clusters: Cluster[] = [];
  const asked = new Set<string>();
  for (let path = '/v1/clusters'; !asked.has(path);) {
    asked.add(path);
    const { clusters: page, next } = await api.ask(ClusterList, path);
    clusters.push(...page);
    if (next !== undefined) path = `/v1/clusters?after=${encodeURIComponent(next)}`;
  }
  return clusters;
}
