import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { BundleLimits, type Tool } from '@fairlead/desired-state';
import { invalidManifest, readManifest, type ManifestObject } from '@fairlead/desired-state/manifest';
import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';

const MAX_IMAGES = 64;

/** What is known of a manifest. */
export interface BundleContents {
  readonly objects: number;
  /** Sorted. */
  readonly images: readonly string[];
}

/** What makes a manifest one of this tool: without these it cannot follow a repository. */
const NEEDED: Record<Tool, readonly (readonly string[])[]> = {
  flux: [
    ['Deployment source-controller'],
    ['Deployment kustomize-controller'],
    ['CustomResourceDefinition gitrepositories.source.toolkit.fluxcd.io'],
    ['CustomResourceDefinition kustomizations.kustomize.toolkit.fluxcd.io'],
  ],
  argocd: [
    ['Deployment argocd-repo-server'],
    ['StatefulSet argocd-application-controller', 'Deployment argocd-application-controller'],
    ['CustomResourceDefinition applications.argoproj.io'],
    ['CustomResourceDefinition appprojects.argoproj.io'],
  ],
};

/**
 * Reads a manifest, one document at a time, letting others work in between. Throws INVALID_ARGUMENT for what is not YAML, holds
 * anything but Kubernetes objects, or is no install manifest of this tool; TOO_LARGE beyond the limits.
 */
export async function inspectBundle(tool: Tool, yaml: Uint8Array): Promise<BundleContents> {
  if (yaml.length > BundleLimits.maxBytes) {
    throw new FairleadError('TOO_LARGE', `the bundle is refused: it has more than ${BundleLimits.maxBytes} bytes`);
  }
  const found = new Set<string>();
  const images = new Set<string>();
  let objects = 0;
  for (const object of readManifest(decode(yaml))) {
    objects += 1;
    found.add(`${object.kind} ${object.metadata.name}`);
    for (const image of imagesOf(object)) images.add(image);
    await yieldToOthers();
  }
  for (const alternatives of NEEDED[tool]) {
    if (alternatives.some((one) => found.has(one))) continue;
    throw invalidManifest(`it is no install manifest of ${tool}: it has no ${alternatives[0]}`);
  }
  if (images.size === 0 || images.size > MAX_IMAGES) throw invalidManifest(`its workloads name ${images.size} images`);
  return { objects, images: [...images].sort() };
}

function decode(yaml: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(yaml);
  } catch {
    throw invalidManifest('it is not UTF-8');
  }
}

const Container = z.looseObject({ image: z.string().min(1).max(512) });
const PodSpec = z.looseObject({
  containers: z.array(Container).max(64),
  initContainers: z.array(Container).max(64).optional(),
});

function imagesOf({ kind, metadata, ...rest }: ManifestObject): string[] {
  const spec = podSpecOf(kind, rest);
  if (spec === undefined) return [];
  const parsed = PodSpec.safeParse(spec);
  if (!parsed.success) throw invalidManifest(`${kind} ${metadata.name} has no pods that can be read`);
  const { containers, initContainers = [] } = parsed.data;
  return [...containers, ...initContainers].map(({ image }) => image);
}

const Template = z.looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: z.unknown() }) }) });
const CronJob = z.looseObject({ spec: z.looseObject({ jobTemplate: Template }) });

function podSpecOf(kind: string, object: object): unknown {
  if (kind === 'Pod') return (object as { spec?: unknown }).spec;
  if (kind === 'CronJob') return CronJob.safeParse(object).data?.spec.jobTemplate.spec.template.spec ?? null;
  if (!['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job'].includes(kind)) return undefined;
  return Template.safeParse(object).data?.spec.template.spec ?? null;
}
