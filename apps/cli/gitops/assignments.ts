import { setTimeout as sleep } from 'node:timers/promises';
import { FairleadError } from '@fairlead/errors';
import type { z } from 'zod';
import { failure, isPassing } from '../failure.js';
import type { ApiClient } from '../session/api-client.js';
import { Assignment, BundleList, CatalogList, type CatalogRepository } from '../session/gitops-answers.js';
import { itemPath } from '../session/paths.js';

const ASSIGNMENTS = '/v1/gitops/assignments';
/** gitops hears of a new cluster a moment after it was made. */
const NEW_CLUSTER_MS = 15_000;
const PAUSE_MS = 500;

/** Undefined: there is none of that name. */
export async function findAssignment(api: ApiClient, name: string): Promise<Assignment | undefined> {
  try {
    return await api.ask(Assignment, itemPath(ASSIGNMENTS, name));
  } catch (error) {
    if (error instanceof FairleadError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Makes it, or makes this of the one that is known. REVISION_CONFLICT if somebody made or changed it meanwhile. */
export function changeAssignment(
  api: ApiClient,
  name: string,
  known: Assignment | undefined,
  body: object,
): Promise<Assignment> {
  return putAssignment(api, name, body, known ? known.revision : null);
}

/** What a change of it begins with. */
export function bodyOf({ name: _name, revision: _revision, ...body }: Assignment): Record<string, unknown> {
  return body;
}

function putAssignment(api: ApiClient, name: string, body: object, ifRevision?: string | null): Promise<Assignment> {
  return api.ask(Assignment, itemPath(ASSIGNMENTS, name), { method: 'PUT', body, ifRevision });
}

/** The same for a cluster that was just made; whatever else it names is known to be there. */
export async function assignNewCluster(api: ApiClient, name: string, body: object): Promise<Assignment> {
  const deadline = AbortSignal.timeout(NEW_CLUSTER_MS);
  for (;;) {
    try {
      return await putAssignment(api, name, body);
    } catch (error) {
      const unknown = error instanceof FairleadError && error.code === 'NOT_FOUND';
      if (!(unknown || isPassing(error)) || deadline.aborted) throw error;
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()));
  }
}

/** This version, or the one that was imported last. NOT_FOUND tells how to import one. */
export async function bundleVersion(api: ApiClient, tool: string, named: string | undefined): Promise<string> {
  const { bundles } = await api.ask(BundleList, '/v1/bundles');
  const ofTool = bundles.filter((bundle) => bundle.tool === tool);
  const found =
    named === undefined
      ? ofTool.toSorted((a, b) => (a.importedAt < b.importedAt ? 1 : -1))[0]
      : ofTool.find(({ version }) => version === named);
  if (found) return found.version;
  const what = named === undefined ? `no bundle of ${tool}` : `no bundle ${tool} ${named}`;
  const next = `fairlead bundle import FILE --tool ${tool} --version ${named ?? 'VERSION'}`;
  throw failure('NOT_FOUND', `${what} was imported yet`, next);
}

/** NOT_FOUND tells how to add it. */
export async function checkRepository(api: ApiClient, name: string): Promise<z.infer<typeof CatalogRepository>> {
  const { repositories } = await api.ask(CatalogList, '/v1/catalog-repositories');
  const found = repositories.find((each) => each.name === name);
  if (found) return found;
  const next = `fairlead catalog add ${name} --host GIT-HOST --repo OWNER/NAME, or look at: fairlead catalog list`;
  throw failure('NOT_FOUND', `there is no catalog repository ${name}`, next);
}
