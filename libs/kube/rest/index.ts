/** The API server by its REST API, for processes that must stay small. */
export { accessFromKubeconfig } from './cluster-access.js';
export { accessFromPod, type ClusterAccess } from './pod-access.js';
export { createKubeApi, type KubeApi, type KubeApiOptions, type KubeRequest } from './kube-api.js';
export {
  keyOf,
  refOf,
  shown,
  type FieldSet,
  type KubeObject,
  type ManagedFields,
  type ObjectMeta,
  type ObjectRef,
} from './kube-object.js';
export {
  createObjects,
  type ApplyRequest,
  type KindRef,
  type ListOptions,
  type Objects,
  type Patch,
  type RemoveOptions,
} from './objects.js';
