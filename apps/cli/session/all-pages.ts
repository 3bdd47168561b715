import type { z } from 'zod';
import { ClusterList, type Cluster } from './answers.js';
import type { ApiClient } from './api-client.js';

interface OnePage {
  readonly next?: string | number | undefined;
}

/** What all pages of a list have; `itemsOf` takes it out of one. */
export async function allPages<Page extends OnePage, Item>(
  api: ApiClient,
  schema: z.ZodType<Page>,
  list: string,
  itemsOf: (page: Page) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(api, schema, list)) items.push(...itemsOf(page));
  return items;
}

/** The pages of a list, each asked for when it is wanted. A server that turns in circles is left. */
export async function* pagesOf<Page extends OnePage>(
  api: ApiClient,
  schema: z.ZodType<Page>,
  list: string,
): AsyncGenerator<Page, void, undefined> {
  const asked = new Set<string>();
  for (let path = list; !asked.has(path);) {
    asked.add(path);
    const page = await api.ask(schema, path);
    yield page;
    if (page.next !== undefined)
      path = `${list}${list.includes('?') ? '&' : '?'}after=${encodeURIComponent(page.next)}`;
  }
}

/** Of those that are meant, by the API's own filters. */
export function allClusters(api: ApiClient, filter: Readonly<Record<string, string>> = {}): Promise<Cluster[]> {
  const query = new URLSearchParams(filter).toString();
  return allPages(api, ClusterList, `/v1/clusters${query === '' ? '' : `?${query}`}`, ({ clusters }) => clusters);
}
