import { isDeepStrictEqual } from 'node:util';
import { FairleadError } from '@fairlead/errors';
import { refOf, type KubeObject, type ManagedFields, type Objects } from '@fairlead/kube/rest';
import { ANNOTATIONS, FIELD_MANAGER } from '../names.js';
import { isFrozenOfOurs, saysImmutable, saysPolicy } from './immutable.js';
import { isAppliedByUs, takenOver, withoutHonoured } from './managed-fields.js';

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
      /** What is applied: the desired object without fields of other operators. */
      readonly object: KubeObject;
      readonly honoured: readonly string[];
      /** Who set what, with what was done by hand as ours; null: nothing was. */
      readonly takeOver: readonly ManagedFields[] | null;
    }
  /** The server does not take this change of the object that there is, but would take a new one. */
  | { readonly kind: 'immutable'; readonly live: KubeObject; readonly error: FairleadError; readonly frozen: boolean }
  | { readonly kind: 'refused'; readonly error: FairleadError };

const UNPROCESSABLE = 422;

/** So the API server forgets who set what. At the next apply it notes all that there is as somebody else's, which is then taken over. */
const WITHOUT_HISTORY: readonly ManagedFields[] = [{}];

/**
 * Asks the server what applying an object would change. Writes nothing. Throws where the server could not be asked. `oursAlone`: what
 * anybody else set in it is ours too, and nobody has it left alone.
 */
export async function compare(objects: Objects, desired: KubeObject, oursAlone = false): Promise<Comparison> {
  const live = await objects.read(refOf(desired));
  if (!live) return { kind: 'missing' };
  if (live.metadata.deletionTimestamp !== undefined) return { kind: 'terminating', live };
  if (!oursAlone && live.metadata.annotations?.[ANNOTATIONS.reconcile] === 'disabled') return { kind: 'left' };
  const frozen = isFrozenOfOurs(live, oursAlone);
  // That it is frozen, with nothing in it but what is ours, is left: a rule of the cluster may freeze each one that is made.
  const managedFields = frozen ? withoutFreezing(live.metadata.managedFields) : live.metadata.managedFields;
  const { object, fields: honoured } = withoutHonoured(desired, oursAlone ? [] : managedFields);
  const takeOver = takenOver(managedFields, { exceptData: isLeftEmpty(desired), oursAlone });
  const differs = (history: readonly ManagedFields[] | null): Comparison =>
    frozen
      ? {
          kind: 'immutable',
          live,
          frozen,
          error: new FairleadError('INVALID_ARGUMENT', 'it differs, and is immutable'),
        }
      : { kind: 'differs', live, object, honoured, takeOver: history };
  try {
    const result = await objects.apply(object, { fieldManager: FIELD_MANAGER, force: true, dryRun: true });
    // Where its history does not name us, the next apply would not take away what was added meanwhile.
    if (takeOver !== null || !isAppliedByUs(managedFields) || !sayTheSame(live, result)) return differs(takeOver);
    return oursAlone && (await hasNobodys(objects, desired, frozen ? thawed(live) : live))
      ? differs(WITHOUT_HISTORY)
      : { kind: 'same', live, honoured };
  } catch (error) {
    const why = await explained(objects, desired, live, error, frozen);
    // What was done by hand may be what does not go with it, such as another port of the same name: it is taken over, then refused or not.
    if (why.kind === 'refused' && takeOver !== null && isInvalid(why.error) && !saysPolicy(why.error.message)) {
      return differs(takeOver);
    }
    return why;
  }
}

function thawed({ immutable: _immutable, ...live }: KubeObject): KubeObject {
  return live;
}

function withoutFreezing(managedFields: readonly ManagedFields[] = []): readonly ManagedFields[] {
  return managedFields.map(({ fieldsV1: { 'f:immutable': _freezing, ...fieldsV1 } = {}, ...entry }) => ({
    ...entry,
    fieldsV1,
  }));
}

/** Is there something in it that its history names nobody for? Asked by what the server would make of the desired one alone. */
async function hasNobodys(objects: Objects, desired: KubeObject, live: KubeObject): Promise<boolean> {
  try {
    return saysMore(live, await objects.create(underAnotherName(desired), true));
  } catch (error) {
    // A policy that takes no object of another name: then it is as its history says.
    if (error instanceof FairleadError && answered(error)) return false;
    throw error;
  }
}

/** A Secret that the manifest brings without anything in it is there for others to fill. */
function isLeftEmpty({ kind, ...rest }: KubeObject): boolean {
  return kind === 'Secret' && rest['data'] === undefined && rest['stringData'] === undefined;
}

async function explained(
  objects: Objects,
  desired: KubeObject,
  live: KubeObject,
  error: unknown,
  frozen: boolean,
): Promise<Comparison> {
  if (!(error instanceof FairleadError) || !answered(error)) throw error;
  const immutable = isInvalid(error) && saysImmutable(error.message);
  if (immutable && (await wouldBeCreated(objects, desired))) {
    return { kind: 'immutable', live, error, frozen };
  }
  return { kind: 'refused', error };
}

function isInvalid({ details }: FairleadError): boolean {
  return details?.['httpStatus'] === UNPROCESSABLE;
}

/** The server itself said no: 4xx, or 500 as for a webhook that does not answer. */
function answered({ details }: FairleadError): boolean {
  const status = Number(details?.['httpStatus'] ?? 0);
  return (status >= 400 && status < 500 && status !== 429 && status !== 401) || status === 500;
}

/** One that is right in itself is refused for what there is already. Asked under another name, as a dry run. */
async function wouldBeCreated(objects: Objects, desired: KubeObject): Promise<boolean> {
  try {
    await objects.create(underAnotherName(desired), true);
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

/** Do two versions of an object say the same? What the server counts and notes in each write does not. */
function sayTheSame(a: KubeObject, b: KubeObject): boolean {
  return isDeepStrictEqual(said(a), said(b));
}

function said(object: KubeObject): unknown {
  const { status: _status, metadata, ...rest } = object;
  const { managedFields: _managed, resourceVersion: _version, generation: _generation, ...names } = metadata;
  return { ...rest, metadata: names };
}

/** Are there fields in an object that another one has not, whatever their values? Its metadata, and what a controller tells in it, do not count. */
export function saysMore(object: KubeObject, than: KubeObject): boolean {
  const { metadata: _metadata, status: _status, operation: _operation, ...fields } = object;
  return hasMore(fields, than);
}

function hasMore(value: unknown, than: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (typeof than !== 'object' || than === null) return true;
  return Object.entries(value).some(
    ([key, inner]) => !Object.hasOwn(than, key) || hasMore(inner, (than as Record<string, unknown>)[key]),
  );
}
