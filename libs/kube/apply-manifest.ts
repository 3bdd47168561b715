import type { KubernetesObject } from '@kubernetes/client-node';
import { FairleadError } from '@fairlead/errors';
import { parseAllDocuments } from 'yaml';
import { connectCluster } from './client.js';
import { kubeError } from './kube-error.js';

export interface ApplyOptions {
  /** Who owns the fields that the manifest lists. */
  readonly fieldManager: string;
  /** Takes fields over from other owners instead of failing with CONFLICT. */
  readonly force?: boolean;
}

/**
 * Applies every document of a YAML text in order, server-side, with strict field validation; stops at the first one that
 * is refused. Errors: INVALID_ARGUMENT, FORBIDDEN, CONFLICT, UNAVAILABLE, DEADLINE_EXCEEDED (15 s a document).
 */
export async function applyManifest(kubeconfigPath: string, yamlText: string, options: ApplyOptions): Promise<void> {
  const objects = parseObjects(yamlText);
  const { objects: api, serverSideApply } = await connectCluster(kubeconfigPath);
  const { fieldManager, force = false } = options;
  for (const object of objects) {
    try {
      await api.patch(object, undefined, undefined, fieldManager, force, serverSideApply);
    } catch (error) {
      throw kubeError(error, `applying ${object.kind} ${object.metadata?.name}`);
    }
  }
}

function parseObjects(yamlText: string): KubernetesObject[] {
  const objects = parseAllDocuments(yamlText).flatMap((document) => {
    const [problem] = document.errors;
    if (problem) throw new FairleadError('INVALID_ARGUMENT', 'the manifest is not valid YAML', { cause: problem });
    const value = document.toJS() as KubernetesObject | null;
    return value === null ? [] : [value];
  });
  const broken = objects.findIndex((object) => !object.apiVersion || !object.kind || !object.metadata?.name);
  if (broken === -1) return objects;
  const which = `document ${broken + 1} of the manifest`;
  throw new FairleadError('INVALID_ARGUMENT', `${which} has no apiVersion, kind or metadata.name`);
}
