import type { Operation } from './operation.js';
import { CertifiedClient, ClientByName, ClientList, ClientPage, NewClient } from './schemas.js';

/** What the admin API can do about clients of the CONNECT door. */
export const clientOperations = {
  createClient: {
    id: 'createClient',
    method: 'POST',
    path: '/v1/clients',
    tag: 'clients',
    summary: 'Register a client of the CONNECT door and certify its key',
    description:
      'For a client that is known, with the same clusters, it certifies another key: that is how a certificate is renewed.',
    auth: 'bearer',
    body: NewClient,
    answers: [{ kind: 'json', status: 201, description: 'Certified.', schema: CertifiedClient }],
    errors: ['ALREADY_EXISTS', 'NOT_FOUND', 'CONFLICT', 'CSR_INVALID', 'DEADLINE_EXCEEDED'],
  },
  listClients: {
    id: 'listClients',
    method: 'GET',
    path: '/v1/clients',
    tag: 'clients',
    summary: 'List the clients of the CONNECT door',
    description: 'As many as fit in one answer; `next` is there if there are more.',
    auth: 'bearer',
    query: ClientPage,
    answers: [{ kind: 'json', status: 200, description: 'Clients by name.', schema: ClientList }],
    errors: [],
  },
  deleteClient: {
    id: 'deleteClient',
    method: 'DELETE',
    path: '/v1/clients/{name}',
    tag: 'clients',
    summary: 'Delete a client',
    description: 'Its certificates are worth nothing from then on.',
    auth: 'bearer',
    params: ClientByName,
    answers: [{ kind: 'empty', status: 204, description: 'Deleted.' }],
    errors: ['NOT_FOUND', 'DEADLINE_EXCEEDED'],
  },
} as const satisfies Record<string, Operation>;
