import type { KubeObject } from '@fairlead/kube/rest';
import { withContainers } from '../../bundle/pod-template.js';

const NO_CROSS_NAMESPACE_REFS = '--no-cross-namespace-refs=true';
const DEFAULT_SERVICE_ACCOUNT = '--default-service-account=default';

/** By Deployment: https://fluxcd.io/flux/installation/configuration/multitenancy/ */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  'kustomize-controller': [NO_CROSS_NAMESPACE_REFS, '--no-remote-bases=true', DEFAULT_SERVICE_ACCOUNT],
  'helm-controller': [NO_CROSS_NAMESPACE_REFS, DEFAULT_SERVICE_ACCOUNT],
  'notification-controller': [NO_CROSS_NAMESPACE_REFS],
  'image-reflector-controller': [NO_CROSS_NAMESPACE_REFS],
  'image-automation-controller': [NO_CROSS_NAMESPACE_REFS],
};

/** Controllers that let no tenant use another one's sources or accounts. A flag that the bundle sets already is replaced. */
export function lockedDown(object: KubeObject): KubeObject {
  const flags = object.kind === 'Deployment' ? FLAGS[object.metadata.name] : undefined;
  if (!flags) return object;
  const names = flags.map((flag) => flag.slice(0, flag.indexOf('=')));
  return withContainers(object, (container) => {
    if (container.name !== 'manager') return container;
    const others = (container.args ?? []).filter(
      (arg) => !names.some((name) => arg === name || arg.startsWith(`${name}=`)),
    );
    return { ...container, args: [...others, ...flags] };
  });
}
