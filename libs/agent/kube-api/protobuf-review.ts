import { fromBinary, toJsonString, type DescMessage } from '@bufbuild/protobuf';
import { FairleadError } from '@fairlead/errors';
import { SelfSubjectAccessReviewSchema, SelfSubjectRulesReviewSchema, UnknownSchema } from '@fairlead/proto';

/** What kubectl sends since 1.34, and controllers long before. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** `k8s` and a zero: every object in Kubernetes' protobuf begins with them. */
const MAGIC = Buffer.from('k8s\0', 'latin1');
const API_VERSION = 'authorization.k8s.io/v1';

const KINDS = {
  access: { kind: 'SelfSubjectAccessReview', schema: SelfSubjectAccessReviewSchema },
  rules: { kind: 'SelfSubjectRulesReview', schema: SelfSubjectRulesReviewSchema },
} as const satisfies Record<string, { kind: string; schema: DescMessage }>;

/**
 * JSON of a review in Kubernetes' protobuf (kubernetes.io/docs/reference/using-api/api-concepts, "Kubernetes Protobuf encoding"): its `spec`, all that
 * is read of it. INVALID_ARGUMENT for what is no such review.
 */
export function jsonOfReview(bytes: Uint8Array, of: keyof typeof KINDS): string {
  const { kind, schema } = KINDS[of];
  if (!MAGIC.equals(bytes.subarray(0, MAGIC.length))) throw notReadable(kind);
  try {
    const { typeMeta, raw, contentEncoding } = fromBinary(UnknownSchema, bytes.subarray(MAGIC.length));
    if (typeMeta?.apiVersion !== API_VERSION || typeMeta.kind !== kind || contentEncoding !== '')
      throw notReadable(kind);
    return toJsonString(schema, fromBinary(schema, raw));
  } catch (cause) {
    throw notReadable(kind, cause);
  }
}

function notReadable(kind: string, cause?: unknown): FairleadError {
  const why = `this review cannot be decided: the body is not protobuf of a ${kind} of ${API_VERSION}`;
  return new FairleadError('INVALID_ARGUMENT', why, { cause });
}
