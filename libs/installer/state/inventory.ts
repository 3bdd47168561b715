import { keyOf, type ObjectRef } from '@fairlead/kube/rest';
import type { ObjectResult } from '../apply/reconcile.js';
import type { HeldState } from './state-keeper.js';

type Inventory = HeldState['inventory'];

/** An inventory of these objects, with what is known of who made them: `before`, and what has just been made. */
export function inventoryWith(
  refs: readonly ObjectRef[],
  before: Inventory,
  results: readonly ObjectResult[] = [],
): Inventory {
  const uids = createdUids(before);
  for (const { ref, uid } of results) if (uid !== undefined) uids.set(keyOf(ref), uid);
  return refs.map((ref) => {
    const createdUid = uids.get(keyOf(ref));
    return createdUid === undefined ? ref : { ...ref, createdUid };
  });
}

/** The uid of each object that was not there before us, by `keyOf`. */
export function createdUids(inventory: Inventory): Map<string, string> {
  return new Map(
    inventory.flatMap((entry): [string, string][] =>
      entry.createdUid === undefined ? [] : [[keyOf(plainRef(entry)), entry.createdUid]],
    ),
  );
}

/** As it was written to JSON: a namespace that is not there is no namespace. */
export function plainRef({
  apiVersion,
  kind,
  namespace,
  name,
}: {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
}): ObjectRef {
  return namespace === undefined ? { apiVersion, kind, name } : { apiVersion, kind, namespace, name };
}
