import { empty, json, operationsOf } from './operation.js';
import { CertifiedClient, ClientByName, ClientList, ClientPage, NewClient } from './schemas.js';

/** What the admin API can do about clients of the CONNECT door. */
export const clientOperations = operationsOf('clients', {
  createClient: {
    route: 'POST /v1/clients',
    summary: 'Register a client of the CONNECT door and certify its key',
    description:
      'For a client that is known, with the same clusters, it certifies another key: that is how a certificate is renewed.',
    body: NewClient,
    answers: [json(201, 'Certified.', CertifiedClient)],
    errors: ['ALREADY_EXISTS', 'NOT_FOUND', 'CONFLICT', 'CSR_INVALID', 'DEADLINE_EXCEEDED'],
  },
  listClients: {
    route: 'GET /v1/clients',
    summary: 'List the clients of the CONNECT door',
    description: 'As many as fit in one answer; `next` is there if there are more.',
    query: ClientPage,
    answers: [json(200, 'Clients by name.', ClientList)],
  },
  deleteClient: {
    route: 'DELETE /v1/clients/{name}',
    summary: 'Delete a client',
    description: 'Its certificates are worth nothing from then on.',
    params: ClientByName,
    answers: [empty('Deleted.')],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
});
