import { FairleadError } from '@fairlead/errors';
import type { KubeApi, KubeRequest } from './kube-api.js';
import { refOf, shown, type KubeObject, type ObjectRef } from './kube-object.js';

export interface ApplyRequest {
  readonly fieldManager: string;
  /** Takes fields over from other owners instead of failing with CONFLICT. */
  readonly force?: boolean;
  /** The server says what would become of it, and writes nothing. */
  readonly dryRun?: boolean;
}

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown; readonly subresource?: string }
  | { readonly type: 'json'; readonly body: readonly unknown[]; readonly subresource?: string };

/** Objects of any kind that the API server serves; what it serves is asked for once, and again for a kind that was not there. */
export interface Objects {
  read(ref: ObjectRef): Promise<KubeObject | null>;
  /** Server-side apply. */
  apply(object: KubeObject, options: ApplyRequest): Promise<KubeObject>;
  create(object: KubeObject, dryRun?: boolean): Promise<KubeObject>;
  patch(ref: ObjectRef, patch: Patch, fieldManager: string): Promise<KubeObject>;
  /** False if there is none. With a uid, only that one. */
  remove(ref: ObjectRef, options?: RemoveOptions): Promise<boolean>;
  /** All of a kind, in all namespaces or one. A kind that the server does not know has none. */
  list(kind: KindRef, options?: ListOptions): Promise<KubeObject[]>;
  /** Changes of what a list would show, until the server or the signal ends it. */
  watch(kind: KindRef, options: ListOptions, signal: AbortSignal): AsyncGenerator;
  /** The same objects; what writes asks the guard, right before it is sent. What that throws is thrown, and nothing is sent. */
  guarded(guard: () => void): Objects;
}

export interface RemoveOptions {
  /** CONFLICT if it is another one by now. */
  readonly uid?: string;
  /** Of a pod; default: its own. */
  readonly gracePeriodSeconds?: number;
  /** The server says whether it would, and deletes nothing. */
  readonly dryRun?: boolean;
}

export type KindRef = Pick<ObjectRef, 'apiVersion' | 'kind'>;

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only their metadata, without who set what. */
  readonly metadataOnly?: boolean;
}

interface Resource {
  readonly path: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

interface ListAnswer {
  readonly items?: readonly KubeObject[];
  readonly metadata?: { readonly continue?: string };
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const PATCH_TYPES = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' };
const PAGE = '500';

export function createObjects(api: KubeApi): Objects {
  return objectsOf(api, discoveryOf(api));
}

type Discovery = (kind: KindRef) => Promise<Resource | null>;

function objectsOf(api: KubeApi, discovery: Discovery, guard?: () => void): Objects {
  const at = async (ref: ObjectRef): Promise<string> => {
    const resource = await discovery(ref);
    if (!resource)
      throw new FairleadError('NOT_FOUND', `the API server does not serve ${ref.kind} of ${ref.apiVersion}`);
    return `${collection(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  };
  const call = (request: KubeRequest): Promise<KubeObject> => api.call<KubeObject>(request);
  const write = (request: KubeRequest): Promise<KubeObject> => call(guard ? { ...request, guard } : request);
  return {
    read: (ref) => orNull(async () => call({ path: await at(ref), what: `reading ${shown(ref)}` })),
    apply: async (object, { fieldManager, force = false, dryRun = false }) =>
      write({
        method: 'PATCH',
        path: await at(refOf(object)),
        query: { fieldManager, force: String(force), ...(dryRun ? { dryRun: 'All' } : {}) },
        contentType: 'application/apply-patch+yaml',
        body: object,
        what: `applying ${shown(refOf(object))}`,
      }),
    create: async (object, dryRun = false) => {
      const path = await at(refOf(object));
      return write({
        method: 'POST',
        path: path.slice(0, path.lastIndexOf('/')),
        query: dryRun ? { dryRun: 'All' } : {},
        body: object,
        what: `creating ${shown(refOf(object))}`,
      });
    },
    patch: async (ref, { type, body, subresource }, fieldManager) =>
      write({
        method: 'PATCH',
        path: `${await at(ref)}${subresource === undefined ? '' : `/${subresource}`}`,
        query: { fieldManager },
        contentType: PATCH_TYPES[type],
        body,
        what: `changing ${shown(ref)}`,
      }),
    remove: async (ref, options = {}) => {
      const body = deleteOptions(options);
      const what = `deleting ${shown(ref)}`;
      return (await orNull(async () => write({ method: 'DELETE', path: await at(ref), body, what }))) !== null;
    },
    list: (kind, options = {}) => listAll(api, discovery, kind, options),
    watch: async function* watch(kind, options, signal) {
      const resource = await discovery(kind);
      if (!resource) throw new FairleadError('NOT_FOUND', `the API server does not serve ${kind.kind}`);
      const query = { ...selectors(options), watch: 'true', timeoutSeconds: '300' };
      const path = collection(resource, options.namespace);
      yield* api.lines({ path, query, what: `watching ${kind.kind}` }, signal);
    },
    guarded: (guard) => objectsOf(api, discovery, guard),
  };
}

async function listAll(api: KubeApi, discovery: Discovery, kind: KindRef, options: ListOptions): Promise<KubeObject[]> {
  const resource = await discovery(kind);
  if (!resource) return [];
  const items: KubeObject[] = [];
  let page = '';
  do {
    const request: KubeRequest = {
      path: collection(resource, options.namespace),
      query: { ...selectors(options), limit: PAGE, ...(page === '' ? {} : { continue: page }) },
      what: `listing ${kind.kind}`,
      ...(options.metadataOnly === true ? { accept: METADATA_ONLY } : {}),
    };
    // Its definition may have been deleted since it was discovered.
    const answer = await orNull(() => api.call<ListAnswer>(request));
    // Items of a list do not say what they are.
    items.push(...(answer?.items ?? []).map((item) => ({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })));
    page = answer?.metadata?.continue ?? '';
  } while (page !== '');
  return items;
}

function deleteOptions({ uid, gracePeriodSeconds, dryRun = false }: RemoveOptions): unknown {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: 'Background',
    ...(uid === undefined ? {} : { preconditions: { uid } }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  };
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Record<string, string> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

function collection({ path, plural, namespaced }: Resource, namespace: string | undefined): string {
  const within = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${path}${within}/${plural}`;
}

function discoveryOf(api: KubeApi): Discovery {
  const known = new Map<string, Map<string, Resource>>();
  return async ({ apiVersion, kind }) => {
    const cached = known.get(apiVersion)?.get(kind);
    if (cached) return cached;
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const what = `looking for ${kind} of ${apiVersion}`;
    const served = await orNull(() =>
      api.call<{ resources: { name: string; kind: string; namespaced: boolean }[] }>({ path, what }),
    );
    const resources = (served?.resources ?? []).filter(({ name }) => !name.includes('/'));
    known.set(
      apiVersion,
      new Map(resources.map(({ name, kind, namespaced }) => [kind, { path, plural: name, namespaced }])),
    );
    return known.get(apiVersion)?.get(kind) ?? null;
  };
}

async function orNull<T>(attempt: () => Promise<T>): Promise<T | null> {
  try {
    return await attempt();
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}
