import { HANDOVER, type BundleReference } from '@fairlead/desired-state';
import type { KubeObject } from '@fairlead/kube/rest';
import { OWN } from '../names.js';
import type { OwnObjects } from '../state/own-objects.js';
import { Problem } from '../problem.js';
import { openBundle } from './open-bundle.js';

type Wanted = Pick<BundleReference, 'digest' | 'bytes'>;

const KEY = HANDOVER.keys.bundle;

/** The bundles that are in the cluster: the one that the agent brought, and the last one that became healthy. */
export class BundleShelf {
  readonly #own: OwnObjects;
  /** The one that was used last: reading and parsing costs some 100 ms. */
  #opened: { readonly digest: string; readonly objects: readonly KubeObject[] } | null = null;

  constructor(own: OwnObjects) {
    this.#own = own;
  }

  /** The objects of a bundle; null if it is not here. BUNDLE_UNREADABLE for one that is, and is no use. */
  async open(wanted: Wanted): Promise<readonly KubeObject[] | null> {
    if (this.#opened?.digest === wanted.digest) return this.#opened.objects;
    for (const name of [HANDOVER.bundle, OWN.good]) {
      const bytes = (await this.#own.readConfigMap(name))?.binaryData[KEY];
      if (!bytes || bytes.length === 0) continue;
      const objects = await openBundle(bytes, wanted).catch(unlessAnother);
      if (!objects) continue;
      this.#opened = { digest: wanted.digest, objects };
      return objects;
    }
    return null;
  }

  /** Why what the agent brought is not what is wanted; null if it brought nothing. */
  async complaint(wanted: Wanted): Promise<Problem | null> {
    const bytes = (await this.#own.readConfigMap(HANDOVER.bundle))?.binaryData[KEY];
    if (!bytes || bytes.length === 0) return null;
    return openBundle(bytes, wanted).then(
      () => null,
      (error: unknown) => {
        if (error instanceof Problem) return error;
        throw error;
      },
    );
  }

  /** Keeps what is on the shelf as the last good one. False if it is there no more. */
  async keepGood(wanted: Wanted): Promise<boolean> {
    const bytes = (await this.#own.readConfigMap(HANDOVER.bundle))?.binaryData[KEY];
    const objects = bytes && (await openBundle(bytes, wanted).catch(unlessAnother));
    if (!objects) return false;
    await this.#own.writeConfigMap(OWN.good, { data: { digest: wanted.digest }, binaryData: { [KEY]: bytes } });
    return true;
  }
}

/** Another bundle than this one may be there; one with the right digest that cannot be read is an error. */
function unlessAnother(error: unknown): null {
  if (error instanceof Problem && error.code === 'BUNDLE_WRONG_DIGEST') return null;
  throw error;
}
