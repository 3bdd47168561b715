import type { z } from 'zod';
import { ClusterList, type Cluster } from './answers.js';
import type { ApiClient } from './api-client.js';

/** What all pages of a list have; `itemsOf` takes it out of one. A server that turns in circles is left. */
export async function allPages<Page extends { readonly next?: string | undefined }, Item>(
  api: ApiClient,
  schema: z.ZodType<Page>,
  list: string,
  itemsOf: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  const asked = new Set<string>();
  for (let path = list; !asked.has(path);) {
    asked.add(path);
    const page = await api.ask(schema, path);
    items.push(...itemsOf(page));
    if (page.next !== undefined)
      path = `${list}${list.includes('?') ? '&' : '?'}after=${encodeURIComponent(page.next)}`;
  }
  return items;
}

/** Of those that are meant, by the API's own filters. */
export function allClusters(api: ApiClient, filter: Readonly<Record<string, string>> = {}): Promise<Cluster[]> {
  const query = new URLSearchParams(filter).toString();
  return allPages(api, ClusterList, `/v1/clusters${query === '' ? '' : `?${query}`}`, ({ clusters }) => clusters);
}
