import { askKube } from '@fairlead/kube/ask-kube';
import { z } from 'zod';
import type { KubeApiTarget } from '../kube-api/kube-api-target.js';

/** Something that an agent may or may not do, as SelfSubjectAccessReview names it. */
export interface ReviewedRight {
  readonly verb: string;
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
  /** Of the resource; default the core one. */
  readonly group?: string;
  readonly subresource?: string;
}

const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const Reviewed = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Whether the API server lets the agent do this. Rejects if it does not say. */
export async function reviewRight(api: KubeApiTarget, right: ReviewedRight, signal: AbortSignal): Promise<boolean> {
  const { verb, group, resource, subresource, name, namespace } = right;
  const spec = { resourceAttributes: { verb, group, resource, subresource, name, namespace } };
  const body = JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec });
  const { status, body: answer } = await askKube(api, { method: 'POST', path: REVIEW, body, signal });
  if (status !== 201 && status !== 200) throw new Error(`the API server answered ${status}`);
  return Reviewed.parse(JSON.parse(answer)).status.allowed;
}
