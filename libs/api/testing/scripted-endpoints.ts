import { keysRpc, type EndpointSet } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type K = typeof keysRpc;

/** The keys service, as far as it is about where agents reach gateways. */
@Controller()
export class EndpointsScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(keysRpc.endpoints)
  async endpoints(_request: RpcRequest<K['endpoints']>): RpcResult<K['endpoints']> {
    return this.script.endpoints;
  }

  @RpcHandler(keysRpc.putEndpoint)
  async putEndpoint({ input: { by, ...endpoint } }: RpcRequest<K['putEndpoint']>): RpcResult<K['putEndpoint']> {
    return this.#change(by, [...this.#without(endpoint.address), endpoint]);
  }

  @RpcHandler(keysRpc.removeEndpoint)
  async removeEndpoint({ input: { by, address } }: RpcRequest<K['removeEndpoint']>): RpcResult<K['removeEndpoint']> {
    const left = this.#without(address);
    if (left.length === this.script.endpoints.endpoints.length) {
      throw new FairleadError('NOT_FOUND', `there is no endpoint ${address}`);
    }
    return this.#change(by, left);
  }

  #without(address: string): EndpointSet['endpoints'] {
    return this.script.endpoints.endpoints.filter((each) => each.address !== address);
  }

  #change(by: string, endpoints: EndpointSet['endpoints']): EndpointSet {
    const { trustVersion } = this.script.endpoints;
    this.script.actors.push(by);
    this.script.endpoints = { ...this.script.endpoints, trustVersion: trustVersion + 1, endpoints };
    return this.script.endpoints;
  }
}
