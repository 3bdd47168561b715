import { TenantId } from '@fairlead/contracts';
import { ERROR_KINDS, type ErrorCode } from '@fairlead/errors';
import { z } from 'zod';
import * as INPUTS from './input-components.js';
import { ALL_OPERATIONS } from './operations.js';
import type { Operation, OperationAnswer } from './operation.js';
import * as OUTPUTS from './output-components.js';
import { Problem } from './schemas.js';

type Json = Record<string, unknown>;

/** What any operation may answer. */
const EVERYWHERE: readonly ErrorCode[] = ['INVALID_ARGUMENT', 'RATE_LIMITED', 'INTERNAL', 'UNAVAILABLE'];
const WITH_TOKEN: readonly ErrorCode[] = ['UNAUTHENTICATED', 'FORBIDDEN'];
/** For a tenant that there is not. */
const IN_A_TENANT: readonly ErrorCode[] = [...WITH_TOKEN, 'NOT_FOUND'];

const ERRORS_OF: Readonly<Record<Operation['auth'], readonly ErrorCode[]>> = {
  public: [],
  installation: WITH_TOKEN,
  administrator: IN_A_TENANT,
  auditor: IN_A_TENANT,
  user: IN_A_TENANT,
};

/** The OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1), made of the very operations that are routed. */
export function openapiDocument(options: { readonly serverUrl: string }): Json & { readonly openapi: string } {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fairlead admin API',
      version: '1.0.0',
      description:
        'Registers clusters, tells how to reach them, and who may. Errors are RFC 9457 problem details. `security` says who may ask: an administrator of the installation, one of a tenant within it, an auditor, who reads its audit log as administrators do, or a user, who is anybody logged in. Administrators of the installation act in another tenant with the header Fairlead-Tenant.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.serverUrl }],
    // As the specification has it for a scheme that is no OAuth2: roles that are needed.
    security: [{ bearer: ['administrator'] }],
    tags: [...new Set(ALL_OPERATIONS.map((operation) => operation.tag))].map((name) => ({ name })),
    paths: paths(),
    components: {
      schemas: { ...componentSchemas(OUTPUTS, 'output'), ...componentSchemas(INPUTS, 'input') },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API token, or that of a login.' } },
    },
  };
}

function paths(): Json {
  const result: Record<string, Json> = {};
  for (const operation of ALL_OPERATIONS) {
    (result[operation.path] ??= {})[operation.method.toLowerCase()] = describeOperation(operation);
  }
  return result;
}

function describeOperation(operation: Operation): Json {
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description ? { description: operation.description } : {}),
    ...securityOf(operation),
    ...parametersOf(operation),
    ...describeBody(operation),
    responses: {
      ...Object.fromEntries(operation.answers.map((answer) => [answer.status, describeAnswer(answer, operation)])),
      ...problemResponses(operation),
    },
  };
}

/** Nothing for administrators, which is what counts for the whole document. */
function securityOf({ auth }: Operation): Json {
  if (auth === 'administrator') return {};
  return { security: auth === 'public' ? [] : [{ bearer: [auth] }] };
}

function describeBody({ body, upload }: Operation): Json {
  const content = {
    ...(body ? { 'application/json': { schema: schemaOf(body, 'input') } } : {}),
    ...(upload ? { [upload.mediaType]: { schema: { type: 'string' } } } : {}),
  };
  return body || upload ? { requestBody: { required: true, content } } : {};
}

function describeAnswer(answer: OperationAnswer, { etag }: Operation): Json {
  const { description } = answer;
  if (answer.kind === 'empty') return { description };
  const headers = { ETag: { description: 'Its revision, for If-Match.', schema: { type: 'string' } } };
  return { description, ...(etag ? { headers } : {}), content: contentOf(answer) };
}

function contentOf(answer: Exclude<OperationAnswer, { kind: 'empty' }>): Json {
  if (answer.kind === 'json') return { 'application/json': { schema: schemaOf(answer.schema, 'output') } };
  const mediaTypes = answer.kind === 'text' ? [answer.mediaType] : answer.mediaTypes;
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: { type: 'string' } }]));
}

function problemResponses(operation: Operation): Json {
  const codes = [...new Set([...EVERYWHERE, ...ERRORS_OF[operation.auth], ...operation.errors])];
  const responses: Json = {};
  for (const status of new Set(codes.map((code) => ERROR_KINDS[code].http))) {
    if (operation.answers.some((answer) => answer.status === status)) continue;
    const ofStatus = codes.filter((code) => ERROR_KINDS[code].http === status);
    responses[status] = problem(ofStatus.map((code) => `${code}: ${ERROR_KINDS[code].safeMessage}`).join('; '));
  }
  if (operation.body) {
    responses[413] = problem('TOO_LARGE: the body is larger than 64 KiB');
    responses[415] = problem('INVALID_ARGUMENT: the body is not application/json');
  }
  if (operation.upload) {
    responses[413] = problem(`TOO_LARGE: the body is larger than ${operation.upload.maxBytes} bytes`);
    responses[415] = problem(`INVALID_ARGUMENT: the body is not ${operation.upload.mediaType}`);
  }
  responses.default = problem('Any other problem.');
  return responses;
}

function problem(description: string): Json {
  return { description, content: { 'application/problem+json': { schema: schemaOf(Problem, 'output') } } };
}

function parametersOf(operation: Operation): Json {
  const all = parameters(operation);
  return all.length > 0 ? { parameters: all } : {};
}

function parameters({ auth, params, query, conditional, resumable }: Operation): Json[] {
  const describe = (where: 'path' | 'query', shape: z.ZodRawShape = {}): Json[] =>
    Object.entries(shape).map(([name, schema]) => ({
      name,
      in: where,
      required: where === 'path' || !z.safeParse(schema, undefined).success,
      schema: withoutMeta(z.toJSONSchema(schema, { io: 'input', override })),
    }));
  return [
    ...describe('path', params?.shape),
    ...describe('query', query?.shape),
    ...(conditional ? CONDITIONS : []),
    ...(resumable ? [LAST_EVENT_ID] : []),
    ...(ERRORS_OF[auth] === IN_A_TENANT ? [ACTING_TENANT] : []),
  ];
}

const ACTING_TENANT: Json = {
  name: 'Fairlead-Tenant',
  in: 'header',
  description: 'Which tenant it is about, if not the own one: for administrators of the installation.',
  schema: withoutMeta(z.toJSONSchema(TenantId)),
};

const LAST_EVENT_ID: Json = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'The id that was heard last: it goes on behind it, whatever the query says.',
  schema: { type: 'string' },
};

const CONDITIONS: readonly Json[] = [
  {
    name: 'If-Match',
    in: 'header',
    description: 'The ETag of what is to be changed: refused if it is another by now.',
    schema: { type: 'string', examples: ['"1f2e3d4c5b6a79880f1e2d3c4b5a6978"'] },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description: 'Only *: refused if it is there already.',
    schema: { type: 'string', enum: ['*'] },
  },
];

/** A reference if the schema has a name, else the schema itself. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const named = Object.entries(io === 'input' ? INPUTS : OUTPUTS).find(([, candidate]) => candidate === schema);
  return named ? { $ref: reference(named[0]) } : withoutMeta(z.toJSONSchema(schema, { io, override }));
}

function componentSchemas(named: Record<string, z.ZodType>, io: 'input' | 'output'): Json {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, override, uri: reference });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutMeta(schema as Json)]));
}

/** zod writes a prefix and base64 as formats that no validator knows, beside what says the same to all of them. */
function override({ jsonSchema }: { jsonSchema: { format?: string } }): void {
  if (jsonSchema.format === 'starts_with' || jsonSchema.format === 'base64') delete jsonSchema.format;
}

function reference(id: string): string {
  return `#/components/schemas/${id}`;
}

function withoutMeta({ $schema: _schema, $id: _id, ...rest }: Json): Json {
  return rest;
}
