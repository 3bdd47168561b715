import { json, operationsOf, text } from './operation.js';
import {
  Approval,
  ChosenPolicy,
  ClusterByName,
  EnrolmentRequest,
  EnrolmentRequestById,
  EnrolmentRequestList,
  EnrolmentRequestPage,
  Rejection,
  ShownPolicy,
} from './schemas.js';

const shown = json(200, 'The policy.', ShownPolicy);

/** What the admin API can do about who may become a cluster's agent. */
export const approvalOperations = operationsOf('approval', {
  listEnrolmentRequests: {
    route: 'GET /v1/enrolment-requests',
    summary: 'List the agents that wait for a decision, or had one',
    query: EnrolmentRequestPage,
    answers: [json(200, 'Those with a token first, then newest first.', EnrolmentRequestList)],
  },
  approveEnrolment: {
    route: 'POST /v1/enrolment-requests/{id}/approval',
    summary: 'Let an agent in',
    description:
      'It has an identity the next time it asks, within a minute. A cluster that is named and does not exist is created; one that exists is enrolled anew, which fences its older agent.',
    params: EnrolmentRequestById,
    body: Approval,
    answers: [json(200, 'Approved.', EnrolmentRequest)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  rejectEnrolment: {
    route: 'POST /v1/enrolment-requests/{id}/rejection',
    summary: 'Turn an agent away',
    params: EnrolmentRequestById,
    body: Rejection,
    answers: [json(200, 'Rejected.', EnrolmentRequest)],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  getApprovalPolicy: {
    route: 'GET /v1/approval-policy',
    summary: 'Tell who decides about enrolments',
    answers: [shown],
  },
  setApprovalPolicy: {
    route: 'PUT /v1/approval-policy',
    summary: 'Choose who decides about enrolments',
    body: ChosenPolicy,
    answers: [shown],
    errors: ['DEADLINE_EXCEEDED'],
  },
  getClusterApprovalPolicy: {
    route: 'GET /v1/clusters/{name}/approval-policy',
    summary: 'Tell who decides about enrolments of a cluster',
    params: ClusterByName,
    answers: [shown],
    errors: ['NOT_FOUND'],
  },
  setClusterApprovalPolicy: {
    route: 'PUT /v1/clusters/{name}/approval-policy',
    summary: 'Choose who decides about enrolments of a cluster',
    params: ClusterByName,
    body: ChosenPolicy,
    answers: [shown],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
  adoptionManifest: {
    route: 'GET /v1/adoption-manifest',
    summary: 'Fetch the manifest of an agent that waits to be adopted',
    auth: 'installation',
    description:
      'The same for every cluster, and no secret. It needs a policy under which agents without a token are heard.',
    answers: [text('The manifest.', 'text/yaml')],
  },
});
