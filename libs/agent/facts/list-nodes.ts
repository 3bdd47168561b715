import { askKube } from '@fairlead/kube/ask-kube';
import { z } from 'zod';
import type { KubeApiTarget } from '../kube-api-proxy.js';
import type { NodeSample } from './distribution.js';

/** As `kubectl` has them; a row of a node is some 250 bytes. */
const PAGE_ROWS = 500;
/** Twice what Kubernetes is made for. */
const MAX_PAGES = 20;
/** Whole nodes, of some 20 KB each: enough to tell whose they are. */
const SAMPLE = 3;
/** The server's own table of nodes, without the nodes themselves: of 5,000, one page after the other is 125 KB. */
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const Table = z.object({
  kind: z.literal('Table'),
  metadata: z.object({ continue: z.string().default('') }).default({ continue: '' }),
  columnDefinitions: z.array(z.object({ name: z.string() })),
  rows: z
    .array(z.object({ cells: z.array(z.unknown()) }))
    .nullable()
    .default([]),
});
const NodeList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()).default({}) }),
      spec: z.object({ providerID: z.string().default('') }).default({ providerID: '' }),
      status: z
        .object({ nodeInfo: z.object({ osImage: z.string().default('') }).default({ osImage: '' }) })
        .default({ nodeInfo: { osImage: '' } }),
    }),
  ),
});

export interface Nodes {
  readonly total: number;
  /** Whose Ready condition is true. */
  readonly ready: number;
  readonly sample: readonly NodeSample[];
}

/**
 * The nodes of a cluster: how many, and some of them. Null if the agent may not list nodes. Rejects if it could not be
 * learned, also if there are more than 10,000.
 */
export async function listNodes(api: KubeApiTarget, signal: AbortSignal, pageRows = PAGE_ROWS): Promise<Nodes | null> {
  const sample = await sampleNodes(api, signal);
  if (!sample) return null;
  let [total, ready, after] = [0, 0, ''];
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const next = after === '' ? '' : `&continue=${encodeURIComponent(after)}`;
    const path = `/api/v1/nodes?limit=${pageRows}&includeObject=None${next}`;
    const { status, body } = await askKube(api, { method: 'GET', path, accept: TABLE, signal });
    if (status === 403) return null;
    if (status !== 200) throw new Error(`the API server answered ${status} to a list of nodes`);
    const table = Table.parse(JSON.parse(body));
    const states = statesOf(table);
    total += states.length;
    ready += states.filter((state) => state === 'Ready').length;
    after = table.metadata.continue;
    if (after === '') return { total, ready, sample };
  }
  throw new Error(`there are more than ${MAX_PAGES * pageRows} nodes`);
}

async function sampleNodes(api: KubeApiTarget, signal: AbortSignal): Promise<NodeSample[] | null> {
  const { status, body } = await askKube(api, { method: 'GET', path: `/api/v1/nodes?limit=${SAMPLE}`, signal });
  if (status === 403) return null;
  if (status !== 200) throw new Error(`the API server answered ${status} to a list of nodes`);
  const { items } = NodeList.parse(JSON.parse(body));
  return items.map(({ metadata: { labels }, spec, status: { nodeInfo } }) => ({
    labels,
    providerId: spec.providerID,
    osImage: nodeInfo.osImage,
  }));
}

/** `Ready`, `NotReady` or `Unknown` of each row; what follows a comma, such as SchedulingDisabled, is of no matter here. */
function statesOf({ columnDefinitions, rows }: z.output<typeof Table>): string[] {
  const column = columnDefinitions.findIndex(({ name }) => name === 'Status');
  if (column === -1) throw new Error('the table of nodes has no column for their status');
  return (rows ?? []).map(({ cells }) => String(cells[column]).split(',')[0] ?? '');
}
