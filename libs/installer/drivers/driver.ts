import type { GitOpsWish, SourceState, Tool } from '@fairlead/desired-state';
import type { KubeObject, Objects, ObjectRef } from '@fairlead/kube/rest';
import type { DeployKey } from '../keys/deploy-keys.js';
import type { Trouble } from '../trouble.js';

/** What the installer has to know of one GitOps tool. Pure, but for `read`: it says what should be, others bring it about. */
export interface ToolDriver {
  readonly tool: Tool;
  /** Where the tool runs, and our source objects are. */
  readonly namespace: string;
  /** The bundle's objects as they are wanted here: `lockdown` as the tool itself recommends it. */
  adapt(bundle: readonly KubeObject[], wish: GitOpsWish): KubeObject[];
  /** Why this wish cannot be fulfilled by this tool, safely; null: it can. Nothing of the source is applied then. */
  objection(wish: GitOpsWish): Trouble | null;
  /** What makes the tool follow the repository, and try the next deploy key; none without a source, or a key that is ready. */
  sources(wish: GitOpsWish, keys: readonly DeployKey[]): KubeObject[];
  /** What a source object is changed to before it is deleted, so that what it deployed stays; null: deleting it takes nothing along. */
  released(ref: ObjectRef): unknown;
  /** What it is changed to so that what it deployed goes with it; null: it deployed nothing. */
  emptied(ref: ObjectRef): unknown;
  /** What the tool says of the repository, of what it deployed, and of the next key. */
  read(objects: Objects, at: string): Promise<SourceStates>;
  /** Objects that a working controller answers for, and whose it is. */
  probes(wish: GitOpsWish, sources: readonly KubeObject[]): ProbeTarget[];
  /** What its controllers hold objects by: nobody takes these off once they are gone. */
  readonly finalizers: readonly string[];
}

export interface SourceStates {
  readonly source: SourceState | null;
  readonly sync: SourceState | null;
  /** Did the tool fetch with the current, and with the next key? Null: not tried yet. */
  readonly currentWorks: boolean | null;
  readonly nextWorks: boolean | null;
  /** Why it does not follow the repository, though it works; null: it does, or it is not known yet. */
  readonly complaint: Trouble | null;
}

/** An object that is annotated with a request, and the Deployment of the controller that must note it in its status. */
export interface ProbeTarget {
  readonly ref: ObjectRef;
  readonly deployment: string;
  /** Made for the request, and deleted once it is answered. */
  readonly make?: KubeObject;
}
