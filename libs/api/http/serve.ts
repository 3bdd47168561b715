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
import { routerPath, type Operation } from '../contract/operation.js';
import { parseInput } from '../problem/invalid-input.js';
import type { ApiRequest } from './api-request.js';

export const OPERATION = 'fairlead:operation';

/** Binds a controller method to an operation: its path, method, status and whether a token is needed. */
export function Serve(operation: Operation): MethodDecorator {
  return applyDecorators(
    RequestMapping({ path: routerPath(operation), method: RequestMethod[operation.method] }),
    HttpCode(operation.answers[0]?.status ?? 200),
    SetMetadata(OPERATION, operation),
  );
}

/** The operation's path parameters, parsed. (Not given its schema: Nest would take that for a pipe.) */
export const Params = createParamDecorator(({ params }: Operation, context: ExecutionContext) =>
  params ? parseInput(params, requestOf(context).params, 'path') : {},
);

/** The operation's query, parsed. */
export const Query = createParamDecorator(({ query }: Operation, context: ExecutionContext) =>
  query ? parseInput(query, requestOf(context).query, 'query') : {},
);

/** The operation's JSON body, parsed. */
export const JsonBody = createParamDecorator(({ body }: Operation, context: ExecutionContext) =>
  body ? parseInput(body, requestOf(context).body, 'body') : {},
);

/** Whoever the token belongs to. */
export const CurrentPrincipal = createParamDecorator((_: undefined, context: ExecutionContext) => {
  const { principal } = requestOf(context);
  if (!principal) throw new FairleadError('INTERNAL', 'an operation without a guard asked for its principal');
  return principal;
});

export function requestOf(context: ExecutionContext): ApiRequest {
  return context.switchToHttp().getRequest<ApiRequest>();
}
