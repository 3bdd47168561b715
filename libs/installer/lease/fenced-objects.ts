import type { Objects } from '@fairlead/kube/rest';
import type { Term } from './term.js';

/**
 * Objects that are written in this term only: it is renewed first if that is due, and asked again right before each request is sent, so that
 * who was held up in between (a long garbage collection, a stopped process) sends nothing that was decided before.
 */
export function fencedObjects(objects: Objects, term: Term): Objects {
  const guarded = objects.guarded(() => term.check());
  return {
    read: (ref) => objects.read(ref),
    list: (kind, options) => objects.list(kind, options),
    watch: (kind, options, signal) => objects.watch(kind, options, signal),
    guarded: (guard) =>
      objects.guarded(() => {
        term.check();
        guard();
      }),
    apply: async (object, spec) => {
      await term.sure();
      return guarded.apply(object, spec);
    },
    create: async (object, dryRun) => {
      await term.sure();
      return guarded.create(object, dryRun);
    },
    patch: async (ref, patch, fieldManager) => {
      await term.sure();
      return guarded.patch(ref, patch, fieldManager);
    },
    remove: async (ref, options) => {
      await term.sure();
      return guarded.remove(ref, options);
    },
  };
}
