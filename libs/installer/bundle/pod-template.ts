import type { KubeObject } from '@fairlead/kube/rest';
import type { ImageRules } from '@fairlead/desired-state';

/** Objects for a cluster that cannot pull from the internet: other registries, and the Secret that opens them. */
export function withImages(objects: readonly KubeObject[], rules: ImageRules): KubeObject[] {
  return objects.map((object) => {
    const { pullSecret } = rules;
    if (object.kind === 'ServiceAccount' && pullSecret !== null) {
      return { ...object, imagePullSecrets: [{ name: pullSecret }] };
    }
    return withContainers(object, (container) =>
      container.image === undefined ? container : { ...container, image: rewritten(container.image, rules.rewrite) },
    );
  });
}

/** The longest prefix that ends at a `/`, or is the whole name, is replaced. */
export function rewritten(image: string, rules: ImageRules['rewrite']): string {
  const matching = rules
    .map(({ from, to }) => ({ from: from.replace(/\/+$/, ''), to: to.replace(/\/+$/, '') }))
    .filter(({ from }) => image === from || image.startsWith(`${from}/`))
    .toSorted((a, b) => b.from.length - a.from.length);
  const [rule] = matching;
  return rule ? `${rule.to}${image.slice(rule.from.length)}` : image;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly [field: string]: unknown;
}

interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly [field: string]: unknown;
}

/** The kinds that have a pod template at `spec.template`. */
export const WORKLOADS: ReadonlySet<string> = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'ReplicaSet']);

/** The object with each container of its pods changed; itself, if it makes no pods. */
export function withContainers(object: KubeObject, change: (container: Container) => Container): KubeObject {
  const spec = object['spec'] as Record<string, unknown> | undefined;
  if (!spec) return object;
  if (object.kind === 'CronJob') {
    const job = spec['jobTemplate'] as { spec?: Record<string, unknown> } | undefined;
    if (!job?.spec) return object;
    return { ...object, spec: { ...spec, jobTemplate: { ...job, spec: withTemplate(job.spec, change) } } };
  }
  return WORKLOADS.has(object.kind) ? { ...object, spec: withTemplate(spec, change) } : object;
}

function withTemplate(
  spec: Record<string, unknown>,
  change: (container: Container) => Container,
): Record<string, unknown> {
  const template = spec['template'] as { spec?: PodSpec } | undefined;
  const pod = template?.spec;
  if (!pod) return spec;
  const changed: PodSpec = {
    ...pod,
    ...(pod.containers ? { containers: pod.containers.map(change) } : {}),
    ...(pod.initContainers ? { initContainers: pod.initContainers.map(change) } : {}),
  };
  return { ...spec, template: { ...template, spec: changed } };
}
