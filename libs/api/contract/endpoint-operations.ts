import { EndpointAddress, EndpointSet, LinkEndpoint } from '@fairlead/contracts';
import { z } from 'zod';
import { json, operationsOf } from './operation.js';

const EndpointByAddress = z.strictObject({ address: EndpointAddress });
const EndpointSettings = LinkEndpoint.omit({ address: true })
  .strict()
  .describe('All that is said of it; what is left out is as by default.');
const shown = json(200, 'All endpoints after it.', EndpointSet);

/** What the admin API can do about where agents reach gateways. It belongs to the installation, as the CA does. */
export const endpointOperations = operationsOf('endpoints', {
  listEndpoints: {
    route: 'GET /v1/endpoints',
    summary: 'List where agents reach gateways',
    auth: 'installation',
    description: 'With how many clusters were told of this list. Without any, agents go by their import manifest.',
    etag: true,
    answers: [{ ...shown, description: 'All endpoints.' }],
  },
  putEndpoint: {
    route: 'PUT /v1/endpoints/{address}',
    summary: 'Add an endpoint, or change one',
    auth: 'installation',
    description:
      'Agents are told, and remember it; none needs a new import manifest. From a draining one they go elsewhere as soon as a link stands there. Repeating it does no harm.',
    params: EndpointByAddress,
    body: EndpointSettings,
    etag: true,
    conditional: true,
    answers: [shown],
    errors: ['CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
  },
  removeEndpoint: {
    route: 'DELETE /v1/endpoints/{address}',
    summary: 'Remove an endpoint',
    auth: 'installation',
    description:
      'Agents leave it, and forget it once a link has stood at another one. Drain it first, and wait until every cluster was told.',
    params: EndpointByAddress,
    etag: true,
    conditional: true,
    answers: [shown],
    errors: ['NOT_FOUND', 'CONFLICT', 'REVISION_CONFLICT', 'DEADLINE_EXCEEDED'],
  },
});
