import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { FleetBreaker } from './fleet-breaker.js';
import { Rollouts } from './rollouts.js';

type Rpcs = typeof gitopsRpc;

/** The part of the contract that is about how changes go through the fleet. */
@Controller()
export class RolloutsController {
  readonly #rollouts: Rollouts;
  readonly #breaker: FleetBreaker;

  constructor(rollouts: Rollouts, breaker: FleetBreaker) {
    this.#rollouts = rollouts;
    this.#breaker = breaker;
  }

  @RpcHandler(gitopsRpc.listRollouts)
  async listRollouts({ tenantId }: RpcRequest<Rpcs['listRollouts']>): RpcResult<Rpcs['listRollouts']> {
    return { rollouts: await this.#rollouts.list(tenantId) };
  }

  @RpcHandler(gitopsRpc.steerRollout)
  async steerRollout({ caller, tenantId, input }: RpcRequest<Rpcs['steerRollout']>): RpcResult<Rpcs['steerRollout']> {
    return this.#rollouts.steer(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.breaker)
  async breaker({ tenantId }: RpcRequest<Rpcs['breaker']>): RpcResult<Rpcs['breaker']> {
    return this.#breaker.get(tenantId);
  }

  @RpcHandler(gitopsRpc.resetBreaker)
  async resetBreaker({ caller, tenantId, input }: RpcRequest<Rpcs['resetBreaker']>): RpcResult<Rpcs['resetBreaker']> {
    return this.#breaker.reset(caller, tenantId, input.actor);
  }
}
