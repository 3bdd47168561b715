import type { Tool } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { ANNOTATIONS, LABELS, OWNER } from '../names.js';

/** Has it our labels, and did nobody ask for it to be left alone? What the inventory names may never have become ours. */
export function isOurs({ metadata: { labels, annotations } }: KubeObject, tool: Tool): boolean {
  return (
    labels?.[LABELS.managedBy] === OWNER &&
    labels[LABELS.bundle] === tool &&
    annotations?.[ANNOTATIONS.reconcile] !== 'disabled'
  );
}

/** For a deletion of this object, and of no other one that bears its name by then. */
export function onlyThis({ metadata: { uid } }: KubeObject): { uid?: string } {
  return uid === undefined ? {} : { uid };
}
