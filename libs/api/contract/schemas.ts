import {
  ApprovalPolicy,
  BootstrapToken,
  CertificateRecord,
  Client,
  ClientName,
  Cluster,
  ClusterChange as ClusterChangeFields,
  ClusterFilter,
  ClusterName,
  CreateCluster,
  CredentialName,
  EnrolmentPlaceText,
  EnrolmentRequest,
  FingerprintStart,
  IssuedIdentity,
  IsoTime,
  Pem,
  PemChain,
  Principal,
  RevocationReason,
  Serial,
  TextPlace,
  registrationRpc,
} from '@fairlead/contracts';
import { z } from 'zod';

export { BootstrapToken, CertificateRecord, Client, Cluster, EnrolmentRequest, IssuedIdentity };

/** An unknown field is a mistake that should not pass in silence. */
export const NewCluster = CreateCluster.strict().describe('A cluster to register.');
export const ClusterChange = ClusterChangeFields.strict().describe(
  'Labels count at once, all else is what its import manifest says from the next time it is applied; what is left out stays.',
);
export const ClusterByName = z.strictObject({ name: ClusterName });
export const ClusterPage = ClusterFilter.extend({ after: ClusterName.optional() }).strict();
export const ClusterList = z.object({
  clusters: z.array(Cluster).describe('By name.'),
  next: ClusterName.optional().describe('There may be more: ask again with it as `after`, and the same filters.'),
});
export type ClusterList = z.infer<typeof ClusterList>;
/** Why: it is shown with what was revoked, and kept in the event. */
export const Revocation = z.strictObject({ reason: RevocationReason }).describe('Why it is to be worth nothing.');
export const CertificateBySerial = z.strictObject({ serial: Serial });
export const CertificatePage = z.strictObject({ after: Serial.optional() });
export const CertificateList = z.object({
  certificates: z.array(CertificateRecord).max(200).describe('Those that end last first; at most 200.'),
  next: Serial.optional().describe('There may be more: ask again with it as `after`.'),
});
export type CertificateList = z.infer<typeof CertificateList>;
export const GatewayByName = z.strictObject({ name: CredentialName });
export const GatewayRevoked = z.object({
  revoked: z.int().min(0).describe('How many were not revoked before.'),
  more: z.boolean().describe('There may be more: ask again.'),
});
export type GatewayRevoked = z.infer<typeof GatewayRevoked>;
export const BootstrapTokenById = z.strictObject({ name: ClusterName, id: z.string().min(1).max(64) });
export const BootstrapTokenPage = z.strictObject({ after: TextPlace.optional() });
export const BootstrapTokenList = z.object({
  tokens: z.array(BootstrapToken).max(200).describe('Newest first.'),
  next: TextPlace.optional().describe('There are more: ask again with it as `after`.'),
});
export type BootstrapTokenList = z.infer<typeof BootstrapTokenList>;
export const IdentityToIssue = registrationRpc.issueIdentity.input
  .pick({ csr: true })
  .strict()
  .describe('A PKCS#10 request (DER, base64) of a P-256 key that stays where it is.');
export const EnrolmentRequestPage = z.strictObject({
  state: EnrolmentRequest.shape.state.optional(),
  fingerprint: FingerprintStart.optional(),
  after: EnrolmentPlaceText.optional(),
});
export const EnrolmentRequestById = z.strictObject({ id: z.uuid() });
export const EnrolmentRequestList = z.object({
  requests: z.array(EnrolmentRequest).max(500).describe('Those with a token first, then newest first.'),
  next: EnrolmentPlaceText.optional().describe('There are more: ask again with it as `after`, and the same filters.'),
});
export type EnrolmentRequestList = z.infer<typeof EnrolmentRequestList>;
export const Approval = z
  .strictObject({
    cluster: ClusterName.optional().describe('Which cluster it is; needed for an agent without a token.'),
  })
  .describe('Compare the fingerprint with the one in the agent’s log first.');
export const Rejection = z.strictObject({ reason: RevocationReason.describe('The agent shows it in its log.') });
export const ChosenPolicy = z
  .strictObject({ policy: ApprovalPolicy.nullable().describe('Null: no choice here.') })
  .describe('Who decides about enrolments.');
export const ShownPolicy = z.object({
  set: ApprovalPolicy.nullable().describe('What was chosen here.'),
  effective: ApprovalPolicy.describe('What counts: the cluster’s, else the tenant’s, else the configuration’s.'),
});
export type ShownPolicy = z.infer<typeof ShownPolicy>;
export const Whoami = Principal.describe('Who the token belongs to, and what it may be in a cluster.');

export const ImportLink = z
  .object({ url: z.url().describe('Answers the manifest to one GET.'), expiresAt: IsoTime })
  .describe('A secret: whoever fetches it first becomes the cluster.');
export type ImportLink = z.infer<typeof ImportLink>;
export const ImportCode = z.strictObject({ code: z.string().regex(/^[A-Za-z0-9_-]{32,128}$/) });

export const Door = z.object({ name: z.string(), url: z.url() });
export type Door = z.infer<typeof Door>;
export const ClusterDoor = Door.extend({
  byName: z.url().optional().describe("The cluster's own host name there, where its paths begin with the first slash."),
});
export type ClusterDoor = z.infer<typeof ClusterDoor>;
export const ClusterAccess = z
  .object({
    cluster: Cluster,
    doors: z.array(ClusterDoor).describe('Where the Kubernetes API is served, at <url>/clusters/<name>.'),
    certificateAuthority: Pem.describe("Root of the doors' certificates."),
  })
  .describe('All that a kubeconfig needs, except the token.');
export type ClusterAccess = z.infer<typeof ClusterAccess>;

export const NewClient = registrationRpc.createClient.input
  .strict()
  .describe('A program to register, with a PKCS#10 request (DER, base64) of a P-256 key that stays where it is.');
export const ClientByName = z.strictObject({ name: ClientName });
export const ClientPage = z.strictObject({ after: ClientName.optional() });
export const ClientList = z.object({
  clients: z.array(Client).describe('By name.'),
  next: ClientName.optional().describe('There are more: ask again with it as `after`.'),
});
export type ClientList = z.infer<typeof ClientList>;
export const CertifiedClient = z
  .object({
    client: Client,
    chain: PemChain.describe('Its certificate first, the issuing one next, the root last.'),
    doors: z.array(Door).describe('Where it may send HTTP CONNECT.'),
    certificateAuthority: Pem.describe("Root of the doors' certificates."),
  })
  .describe('All that a client needs, except its key.');
export type CertifiedClient = z.infer<typeof CertifiedClient>;

export const Readiness = z.object({
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() })),
});

export const FieldProblem = z.object({
  path: z.string().describe('Where in the request, such as body.labels.zone.'),
  message: z.string(),
});
export type FieldProblem = z.infer<typeof FieldProblem>;
export const Problem = z
  .object({
    type: z.string().describe('urn:fairlead:error:<code>'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('What went wrong with this request.'),
    code: z.string().describe('Stable; decide by this, never by a text.'),
    next: z.string().describe('What to do about it.'),
    retryable: z.boolean().describe('The same request may be sent again: it was not carried out.'),
    requestId: z.string().describe('Names this request in the log of the API.'),
    problems: z.array(FieldProblem).optional(),
  })
  .describe('RFC 9457 problem details.');
export type Problem = z.infer<typeof Problem>;
