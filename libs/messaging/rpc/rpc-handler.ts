import { rpcPattern, type Rpc } from '@fairlead/contracts';
import { toFairleadError } from '@fairlead/errors';
import { MessagePattern, RpcException } from '@nestjs/microservices';
import type { z } from 'zod';
import { checkRequest, type ReceivedRequest, type RpcRequest } from './rpc-request.js';

export type RpcResult<R extends Rpc> = Promise<z.input<R['output']>>;
type AnyHandler<R extends Rpc> = (request: RpcRequest<R>) => RpcResult<R>;

/**
 * Makes a method of a Nest controller answer an RPC: `@RpcHandler(keysRpc.signAgent) async signAgent(request:
 * RpcRequest<typeof keysRpc.signAgent>)`. The caller's role and the input are checked before the method runs; what it
 * throws goes to the caller as a FairleadError.
 */
export function RpcHandler<R extends Rpc>(rpc: R) {
  return <Handler extends AnyHandler<R>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Handler>,
  ): void => {
    const handle = descriptor.value;
    if (!handle) throw new TypeError('RpcHandler decorates methods only');
    const checked = async function (this: unknown, received: ReceivedRequest): RpcResult<R> {
      try {
        return await handle.call(this, checkRequest(rpc, received));
      } catch (error) {
        // Nest hides everything but an RpcException from the caller; the server turns this one into its wire form.
        throw new RpcException(toFairleadError(error));
      }
    };
    descriptor.value = checked as unknown as Handler;
    MessagePattern(rpcPattern(rpc))(target, key, descriptor);
  };
}
