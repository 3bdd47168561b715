/** What a request asks a kube-apiserver for, as that reads it (apiserver's RequestInfo and authorizer.Attributes). */
export type RequestAttributes = ResourceRequest | UrlRequest;

export interface ResourceRequest {
  readonly kind: 'resource';
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or what a review names. */
  readonly verb: string;
  readonly apiGroup: string;
  readonly resource: string;
  /** Empty: none. */
  readonly subresource: string;
  /** Empty: the request is for no namespace, or for all. */
  readonly namespace: string;
  /** Empty: none. */
  readonly name: string;
  /** It makes the object if it is not there, for which a kube-apiserver asks RBAC for `create`: by server-side apply, or by a PUT of one of a few kinds. */
  readonly mayCreate?: 'apply' | 'put';
}

export interface UrlRequest {
  readonly kind: 'url';
  /** The method in lower case. */
  readonly verb: string;
  readonly path: string;
}
