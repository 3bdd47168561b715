import { FairleadError } from '@fairlead/errors';
import { z } from 'zod';
import { decide, rulesBehind, type CompiledRules } from './decide.js';
import { whyNotAs, type AskedIdentity } from './impersonation.js';
import type { RequestAttributes } from './request-attributes.js';

/** Of a review that somebody sends. */
export const MAX_REVIEW_BYTES = 65_536;

/** What is to become of a SelfSubjectAccessReview. */
export type ReviewOutcome =
  /** JSON of the whole review: it is answered here, with 201. */
  | { readonly kind: 'answered'; readonly body: string }
  /** To be sent on with these groups and no others, as this JSON: RBAC of the cluster says the rest. */
  | { readonly kind: 'asked'; readonly groups: readonly string[]; readonly body: string };

const word = z.string().max(253).default('');
/** As Kubernetes' authorization.k8s.io/v1 has it; what is left out is empty. */
const AccessReview = z.object({
  spec: z.object({
    resourceAttributes: z
      .object({
        namespace: word,
        verb: word,
        group: word,
        version: word,
        resource: word,
        subresource: word,
        name: word,
        fieldSelector: z.looseObject({}).nullish(),
        labelSelector: z.looseObject({}).nullish(),
      })
      .nullish(),
    nonResourceAttributes: z.object({ path: z.string().max(2_048).default(''), verb: word }).nullish(),
  }),
});
type AccessReview = z.infer<typeof AccessReview>;

const PLACE = { apiVersion: 'authorization.k8s.io/v1', metadata: { creationTimestamp: null } } as const;

/** Whether this request asks what its sender may do, and how; null: it does not. */
export function selfReviewOf(attributes: RequestAttributes): 'access' | 'rules' | null {
  if (attributes.kind !== 'resource') return null;
  const { verb, apiGroup, resource, subresource } = attributes;
  if (verb !== 'create' || apiGroup !== 'authorization.k8s.io' || subresource !== '') return null;
  if (resource === 'selfsubjectaccessreviews') return 'access';
  return resource === 'selfsubjectrulesreviews' ? 'rules' : null;
}

/**
 * Decides a SelfSubjectAccessReview as the request would be decided that it speaks of; `as`: whom its sender acts as. What goes on is written anew from
 * what was read, so that nobody reads it in another way. INVALID_ARGUMENT for what is no such review.
 */
export function reviewAccess(rules: CompiledRules, body: string, as: AskedIdentity | null = null): ReviewOutcome {
  const review = read(AccessReview, body, 'SelfSubjectAccessReview');
  const attributes = attributesOf(review);
  const why = whyNot(rules, attributes, as);
  if (why !== null) return { kind: 'answered', body: answer(review, why) };
  const asked = { ...PLACE, kind: 'SelfSubjectAccessReview', spec: review.spec };
  return { kind: 'asked', groups: as?.groups ?? decide(rules, attributes).groups, body: JSON.stringify(asked) };
}

function whyNot(rules: CompiledRules, attributes: RequestAttributes, as: AskedIdentity | null): string | null {
  const { allowed, because } = decide(rules, attributes);
  if (!allowed) return because;
  // Whoever may do everything may also do what is denied.
  if (rules.deny.length > 0 && isAboutAll(attributes)) return 'a grant that denies something leaves not all of it';
  return as === null ? null : whyNotAs(rulesBehind(rules, attributes), as);
}

function isAboutAll(attributes: RequestAttributes): boolean {
  const { verb } = attributes;
  if (verb === '*') return true;
  return attributes.kind === 'url'
    ? attributes.path.includes('*')
    : [attributes.resource, attributes.apiGroup, attributes.subresource].includes('*');
}

function attributesOf({ spec: { resourceAttributes, nonResourceAttributes } }: AccessReview): RequestAttributes {
  if (resourceAttributes && !nonResourceAttributes) {
    const { verb, group, resource, subresource, namespace, name } = resourceAttributes;
    return { kind: 'resource', verb, apiGroup: group, resource, subresource, namespace, name };
  }
  if (nonResourceAttributes && !resourceAttributes) return { kind: 'url', ...nonResourceAttributes };
  throw invalid('a review speaks of a resource or of a URL, and of one of them');
}

function answer({ spec }: AccessReview, reason: string): string {
  const status = { allowed: false, reason: `fairlead: ${reason}` };
  return `${JSON.stringify({ kind: 'SelfSubjectAccessReview', ...PLACE, spec, status })}\n`;
}

/** INVALID_ARGUMENT for what cannot be read; the schema says the rest. */
export function read<T extends z.ZodType>(schema: T, body: string, kind: string): z.infer<T> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw invalid(`the body is not JSON of a ${kind}`, cause);
  }
  const result = schema.safeParse(value);
  if (!result.success) throw invalid(`the body is no ${kind}`, result.error);
  return result.data;
}

function invalid(why: string, cause?: unknown): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `this review cannot be decided: ${why}`, { cause });
}
