import type { ErrorCode } from '@fairlead/errors';
import type { z } from 'zod';

/** One thing the API can do. Routing, authentication, validation and OpenAPI all read this one value. */
export interface Operation {
  /** `operationId` in OpenAPI; unique. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for a parameter, as OpenAPI writes it. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: MayAsk;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The body is a file, taken as it streams in, instead of JSON. Its Content-Length has to be there. */
  readonly upload?: { readonly mediaType: string; readonly maxBytes: number };
  /** The answer's `revision` is its ETag, too. */
  readonly etag?: true;
  /** Takes If-Match with such an ETag, and `If-None-Match: *`: else REVISION_CONFLICT. */
  readonly conditional?: true;
  /** Takes Last-Event-ID, as EventSource sends it. */
  readonly resumable?: true;
  readonly answers: readonly OperationAnswer[];
  /** Besides those that every operation can have. */
  readonly errors: readonly ErrorCode[];
  /** What to do about an error, where it is something else than for other operations. */
  readonly next?: Partial<Record<ErrorCode, string>>;
  /** Where the answer may take longer than others, since somebody outside is asked. */
  readonly answersWithinMs?: number;
}

/**
 * Who may ask for an operation. `installation`: administrators of the installation, which are those of its default tenant; `administrator`: those of any
 * tenant, within it; `auditor`: these, and auditors of the tenant; `user`: anybody who is logged in; `public`: anybody, without a token too.
 */
export type MayAsk = 'installation' | 'administrator' | 'auditor' | 'user' | 'public';

export type OperationAnswer =
  | { readonly kind: 'json'; readonly status: number; readonly description: string; readonly schema: z.ZodType }
  | { readonly kind: 'text'; readonly status: number; readonly description: string; readonly mediaType: string }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly description: string;
      readonly mediaTypes: readonly string[];
    }
  | { readonly kind: 'empty'; readonly status: number; readonly description: string };

/** An operation as it is written down: `route` is its method and path, and what is not said is as it mostly is. */
interface Declared extends Omit<Operation, 'id' | 'method' | 'path' | 'tag' | 'auth' | 'errors'> {
  readonly route: `${Operation['method']} /${string}`;
  /** Default: as the others. */
  readonly tag?: string;
  /** Default: administrators of the tenant only. */
  readonly auth?: Exclude<MayAsk, 'administrator'>;
  /** Default: none. */
  readonly errors?: readonly ErrorCode[];
}

/** Operations of one tag, each with its name as its id. */
export function operationsOf<const Ops extends Readonly<Record<string, Declared>>>(tag: string, declared: Ops) {
  const made = Object.entries(declared).map(([id, { route, ...said }]) => {
    const [method, path] = route.split(' ');
    return [id, { tag, auth: 'administrator', errors: [], ...said, id, method, path }];
  });
  type Made = Pick<Operation, 'id' | 'method' | 'path' | 'tag' | 'auth' | 'errors'>;
  return Object.fromEntries(made) as { readonly [Id in keyof Ops]: Ops[Id] & Made };
}

export function json<const Schema extends z.ZodType>(status: number, description: string, schema: Schema) {
  return { kind: 'json', status, description, schema } as const;
}

export function text(description: string, mediaType: string) {
  return { kind: 'text', status: 200, description, mediaType } as const;
}

/** Of any length, as it comes; in one of these types. */
export function streamed(description: string, mediaTypes: readonly string[]) {
  return { kind: 'stream', status: 200, description, mediaTypes } as const;
}

export function empty(description: string) {
  return { kind: 'empty', status: 204, description } as const;
}

/** The path as the router writes it: `/v1/clusters/:name`. */
export function routerPath(operation: Operation): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** The methods that some operation serves at this path; empty if the path is unknown. */
export function allowedMethods(operations: readonly Operation[], path: string): string[] {
  const methods = operations.filter((operation) => matches(operation.path, path)).map((operation) => operation.method);
  return [...new Set(methods)];
}

/** The operation that is routed so. */
export function routedOperation(
  operations: readonly Operation[],
  method: string,
  url: string | undefined,
): Operation | undefined {
  return operations.find((operation) => operation.method === method && routerPath(operation) === url);
}

function matches(template: string, path: string): boolean {
  const [expected, given] = [template.split('/'), path.split('/')];
  return (
    expected.length === given.length &&
    expected.every((part, index) => part === given[index] || (part.startsWith('{') && given[index] !== ''))
  );
}
