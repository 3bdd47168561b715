import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { BundleLimits, type Tool } from '@fairlead/desired-state';
import { FairleadError } from '@fairlead/errors';
import { parseDocument } from 'yaml';
import { z } from 'zod';

/** Of one document: the largest definition of Argo CD has about 1 MB. */
const MAX_DOCUMENT_BYTES = 2 * 1_048_576;
const MAX_IMAGES = 64;
/** Upstream's manifests have no aliases at all. */
const MAX_ALIASES = 20;

/** What is known of a manifest. */
export interface BundleContents {
  readonly objects: number;
  /** Sorted. */
  readonly images: readonly string[];
}

const K8sObject = z.looseObject({
  apiVersion: z.string().min(1).max(253),
  kind: z.string().min(1).max(63),
  metadata: z.looseObject({ name: z.string().min(1).max(253) }),
});
type K8sObject = z.infer<typeof K8sObject>;

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
  if (yaml.length > BundleLimits.maxBytes) throw tooLarge(`${BundleLimits.maxBytes} bytes`);
  const found = new Set<string>();
  const images = new Set<string>();
  let objects = 0;
  for (const [index, text] of documentsOf(decode(yaml)).entries()) {
    const object = readObject(text, index + 1);
    if (!object) continue;
    objects += 1;
    if (objects > BundleLimits.maxObjects) throw tooLarge(`${BundleLimits.maxObjects} objects`);
    found.add(`${object.kind} ${object.metadata.name}`);
    for (const image of imagesOf(object)) images.add(image);
    await yieldToOthers();
  }
  for (const alternatives of NEEDED[tool]) {
    if (alternatives.some((one) => found.has(one))) continue;
    throw invalid(`it is no install manifest of ${tool}: it has no ${alternatives[0]}`);
  }
  if (images.size === 0 || images.size > MAX_IMAGES) throw invalid(`its workloads name ${images.size} images`);
  return { objects, images: [...images].sort() };
}

function decode(yaml: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(yaml);
  } catch {
    throw invalid('it is not UTF-8');
  }
}

/** `---` at the start of a line begins a document wherever it stands: https://yaml.org/spec/1.2.2/#912-document-markers */
function documentsOf(text: string): string[] {
  return text.split(/^---(?=[ \t\r\n]|$)/m);
}

function readObject(text: string, number: number): K8sObject | null {
  if (text.length > MAX_DOCUMENT_BYTES) throw tooLarge(`${MAX_DOCUMENT_BYTES} bytes in document ${number}`);
  const value = toValue(text, number);
  if (value === null || value === undefined) return null;
  const object = K8sObject.safeParse(value);
  if (!object.success) throw invalid(`document ${number} is no Kubernetes object`);
  return object.data;
}

function toValue(text: string, number: number): unknown {
  const document = parseDocument(text, { logLevel: 'silent', merge: false, uniqueKeys: true });
  if (document.errors.length > 0) throw invalid(`document ${number} is not YAML`);
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown;
  } catch (cause) {
    throw invalid(`document ${number} has too many aliases`, cause);
  }
}

const Container = z.looseObject({ image: z.string().min(1).max(512) });
const PodSpec = z.looseObject({
  containers: z.array(Container).max(64),
  initContainers: z.array(Container).max(64).optional(),
});

function imagesOf({ kind, metadata, ...rest }: K8sObject): string[] {
  const spec = podSpecOf(kind, rest);
  if (spec === undefined) return [];
  const parsed = PodSpec.safeParse(spec);
  if (!parsed.success) throw invalid(`${kind} ${metadata.name} has no pods that can be read`);
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

function invalid(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the bundle is refused: ${why}`, { cause });
}

function tooLarge(limit: string): FairleadError {
  return new FairleadError('TOO_LARGE', `the bundle is refused: it has more than ${limit}`);
}
