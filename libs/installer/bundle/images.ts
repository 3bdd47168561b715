import type { ImageRules } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { withContainers } from './pod-template.js';

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
