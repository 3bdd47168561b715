import type { GitOpsSpec, SourceState, Tool } from '@fairlead/desired-state';
import type { KubeObject, Objects, ObjectRef } from '@fairlead/kube/rest';
import type { DeployKey } from '../keys/deploy-keys.js';
import type { Problem } from '../problem.js';

/** What the installer has to know of one GitOps tool. Pure, but for `read`: it says what should be, others bring it about. */
export interface ToolDriver {
  readonly tool: Tool;
  /** Where the tool runs, and our source objects are. */
  readonly namespace: string;
  /** The bundle's objects as they are desired here: `lockdown` as the tool itself recommends it. */
  adapt(bundle: readonly KubeObject[], spec: GitOpsSpec): KubeObject[];
  /** Why this spec cannot be fulfilled by this tool, safely; null: it can. Nothing of the source is applied then. */
  objection(spec: GitOpsSpec): Problem | null;
  /** What makes the tool follow the repository, and try the next deploy key; none without a source, or a key that is ready. */
  sources(spec: GitOpsSpec, keys: readonly DeployKey[]): KubeObject[];
  /** What a source object is changed to before it is deleted, so that what it deployed stays; null: deleting it takes nothing along. */
  released(ref: ObjectRef): unknown;
  /** What it is changed to so that what it deployed goes with it; null: it deployed nothing. */
  emptied(ref: ObjectRef): unknown;
  /** What the tool says of the repository, of what it deployed, and of the next key. */
  read(objects: Objects, at: string): Promise<SourceStates>;
  /** Has a tool that gave a commit up try it again, once it has had a rest. */
  tryAgain(objects: Objects, nowMs: number): Promise<void>;
  /** Objects that a working controller answers for, and whose it is. */
  probes(spec: GitOpsSpec, sources: readonly KubeObject[]): ProbeTarget[];
  /** What its controllers hold objects by: nobody takes these off once they are gone. */
  readonly finalizers: readonly string[];
  /** What the tool trusts, and follows: here no operator's fields are left to it, or the tool could widen by itself what it trusts. */
  isOursAlone(ref: ObjectRef, spec: GitOpsSpec): boolean;
  /**
   * Why one of these, which is not as it should be, is left so: the repository that is followed holds it too, and would put it back each
   * time. Null: it is put right.
   */
  contested(objects: Objects, live: KubeObject): Promise<Problem | null>;
  /** `Secret name` and the like: what the tool makes for itself in its namespace, which is nobody's when it goes. */
  readonly leavings: readonly string[];
}

export interface SourceStates {
  readonly source: SourceState | null;
  readonly sync: SourceState | null;
  /** Did the tool fetch with the current, and with the next key? Null: not tried yet. */
  readonly currentWorks: boolean | null;
  readonly nextWorks: boolean | null;
  /** Why it does not follow the repository, though it works; null: it does, or it is not known yet. */
  readonly complaint: Problem | null;
}

/** A question that only a working controller answers: an object that it is asked to reconcile. */
export interface ProbeTarget {
  readonly ref: ObjectRef;
  /** The Deployment or StatefulSet that has to answer. */
  readonly workload: string;
  /** The workload by which the question comes to this one: while that one is silent, nothing is known of this one. */
  readonly through?: string;
  /** Made for the request, and deleted once it is answered. */
  readonly make?: KubeObject;
  /** A merge patch of the object that asks; the token is another one each time. */
  request(token: string): unknown;
  /** What the object says of the request. `again`: it was handled, and this workload had no part in it: it is asked once more. */
  answer(object: KubeObject, token: string): 'given' | 'none' | 'again';
}
