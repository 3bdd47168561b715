import { FairleadError } from '@fairlead/errors';
import { refOf, type KubeObject, type ManagedFields, type Objects } from '@fairlead/kube/rest';
import { ANNOTATIONS, FIELD_MANAGER } from '../names.js';
import { saysImmutable } from './immutable.js';
import { takenOver, withoutHonoured } from './managed-fields.js';
import { sayTheSame } from './same.js';

/** What would have to be done to an object. */
export type Comparison =
  | { readonly kind: 'same'; readonly live: KubeObject; readonly honoured: readonly string[] }
  /** Somebody annotated it so. */
  | { readonly kind: 'left' }
  | { readonly kind: 'missing' }
  /** Somebody deleted it, and it is not gone yet. */
  | { readonly kind: 'terminating'; readonly live: KubeObject }
  | {
      readonly kind: 'differs';
      readonly live: KubeObject;
      /** What is applied: the wanted object without fields of other operators. */
      readonly object: KubeObject;
      readonly honoured: readonly string[];
      /** Who set what, with what was done by hand as ours; null: nothing was. */
      readonly takeOver: readonly ManagedFields[] | null;
    }
  /** The server does not take this change of the object that there is, but would take a new one. */
  | { readonly kind: 'immutable'; readonly live: KubeObject; readonly error: FairleadError }
  | { readonly kind: 'refused'; readonly error: FairleadError };

const UNPROCESSABLE = 422;

/** Asks the server what applying an object would change. Writes nothing. Throws where the server could not be asked. */
export async function compare(objects: Objects, wanted: KubeObject): Promise<Comparison> {
  const live = await objects.read(refOf(wanted));
  if (!live) return { kind: 'missing' };
  if (live.metadata.deletionTimestamp !== undefined) return { kind: 'terminating', live };
  if (live.metadata.annotations?.[ANNOTATIONS.reconcile] === 'disabled') return { kind: 'left' };
  const { object, fields: honoured } = withoutHonoured(wanted, live.metadata.managedFields);
  const takeOver = takenOver(live.metadata.managedFields);
  try {
    const result = await objects.apply(object, { fieldManager: FIELD_MANAGER, force: true, dryRun: true });
    if (takeOver === null && sayTheSame(live, result)) return { kind: 'same', live, honoured };
    return { kind: 'differs', live, object, honoured, takeOver };
  } catch (error) {
    return explained(objects, wanted, live, error);
  }
}

async function explained(objects: Objects, wanted: KubeObject, live: KubeObject, error: unknown): Promise<Comparison> {
  if (!(error instanceof FairleadError) || !answered(error)) throw error;
  const immutable = error.details?.['httpStatus'] === UNPROCESSABLE && saysImmutable(error.message);
  if (immutable && (await wouldBeCreated(objects, wanted))) {
    return { kind: 'immutable', live, error };
  }
  return { kind: 'refused', error };
}

/** The server itself said no: 4xx, or 500 as for a webhook that does not answer. */
function answered({ details }: FairleadError): boolean {
  const status = Number(details?.['httpStatus'] ?? 0);
  return (status >= 400 && status < 500 && status !== 429 && status !== 401) || status === 500;
}

/** One that is right in itself is refused for what there is already. Asked under another name, as a dry run. */
async function wouldBeCreated(objects: Objects, wanted: KubeObject): Promise<boolean> {
  try {
    await objects.create(underAnotherName(wanted), true);
    return true;
  } catch (error) {
    if (error instanceof FairleadError && answered(error)) return false;
    throw error;
  }
}

/** For a dry run that must not meet what is there. */
export function underAnotherName(object: KubeObject): KubeObject {
  const name = `${object.metadata.name.slice(0, 40)}-fairlead-dry-run`;
  return { ...object, metadata: { ...object.metadata, name } };
}
