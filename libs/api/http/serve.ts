import type { Readable } from 'node:stream';
import type { Principal } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import {
  HttpCode,
  RequestMapping,
  RequestMethod,
  SetMetadata,
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
} from '@nestjs/common';
import type { z } from 'zod';
import { routerPath, type Operation } from '../contract/operation.js';
import { operations } from '../contract/operations.js';
import { parseInput } from '../problem/invalid-input.js';
import type { ApiRequest } from './api-request.js';

export const OPERATION = 'fairlead:operation';

type Operations = typeof operations;
type OperationId = keyof Operations;
type Part<Id extends OperationId, Name extends 'params' | 'query' | 'body'> =
  Operations[Id] extends Readonly<Record<Name, infer Schema extends z.ZodType>> ? z.output<Schema> : unknown;

/** Who asks for an operation, and what it takes of the request, each part as its schema reads it. */
export interface Call<Id extends OperationId> {
  readonly principal: Principal;
  readonly tenantId: string;
  /** Name of the user, for the record. */
  readonly actor: string;
  readonly params: Part<Id, 'params'>;
  readonly query: Part<Id, 'query'>;
  readonly body: Part<Id, 'body'>;
}

type Answered<Answer> = Answer extends { readonly schema: infer Schema extends z.ZodType }
  ? z.input<Schema>
  : Answer extends { readonly kind: 'text' }
    ? string
    : Answer extends { readonly kind: 'stream' }
      ? Readable
      : void;
type Answer<Id extends OperationId> = Answered<Operations[Id]['answers'][number]>;
type Arguments<Id extends OperationId> = 'public' extends Operations[Id]['auth'] ? never[] : [Call<Id>, ...never[]];

/** Binds a controller method to an operation: its path, method, status and whether a token is needed; and what it takes and answers. */
export function Serve<Id extends OperationId>(id: Id) {
  const operation: Operation = operations[id];
  return applyDecorators(
    RequestMapping({ path: routerPath(operation), method: RequestMethod[operation.method] }),
    HttpCode(operation.answers[0]?.status ?? 200),
    SetMetadata(OPERATION, operation),
  ) as <Handler extends (...call: Arguments<Id>) => Answer<Id> | Promise<Answer<Id>>>(
    target: object,
    name: string,
    method: TypedPropertyDescriptor<Handler>,
  ) => void;
}

/** The call of the operation that the method serves; for one that needs a token. */
export const Asked = createParamDecorator((_: undefined, context: ExecutionContext): Call<OperationId> => {
  const { params, query, body } = servedBy(context);
  const request = requestOf(context);
  const { principal } = request;
  if (!principal) throw new FairleadError('INTERNAL', 'an operation without a guard asked for its principal');
  return {
    principal,
    tenantId: principal.tenantId,
    actor: principal.user,
    params: params ? parseInput(params, request.params, 'path') : {},
    query: query ? parseInput(query, request.query, 'query') : {},
    body: body ? parseInput(body, request.body, 'body') : {},
  };
});

/** The operation that a method was bound to. FORBIDDEN: to none. */
export function servedBy(context: ExecutionContext): Operation {
  const operation = Reflect.getMetadata(OPERATION, context.getHandler()) as Operation | undefined;
  if (!operation) throw new FairleadError('FORBIDDEN', 'this route is not declared as an operation');
  return operation;
}

export function requestOf(context: ExecutionContext): ApiRequest {
  return context.switchToHttp().getRequest<ApiRequest>();
}
