import { gitopsRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { FleetBreaker } from './fleet-breaker.js';
import { Rollouts } from './rollouts.js';

type Asked<Method extends keyof typeof gitopsRpc> = RpcRequest<(typeof gitopsRpc)[Method]>;

/** The part of the contract that is about how changes go through the fleet. */
@Controller()
export class RolloutsController {
  constructor(
    private readonly rollouts: Rollouts,
    private readonly fleet: FleetBreaker,
  ) {}

  @RpcHandler(gitopsRpc.listRollouts)
  async listRollouts({ tenantId, input }: Asked<'listRollouts'>) {
    return this.rollouts.list(tenantId, input.after);
  }

  @RpcHandler(gitopsRpc.steerRollout)
  async steerRollout({ caller, tenantId, input }: Asked<'steerRollout'>) {
    return this.rollouts.steer(caller, tenantId, input);
  }

  @RpcHandler(gitopsRpc.breaker)
  async breaker({ tenantId }: Asked<'breaker'>) {
    return this.fleet.get(tenantId);
  }

  @RpcHandler(gitopsRpc.resetBreaker)
  async resetBreaker({ caller, tenantId, input }: Asked<'resetBreaker'>) {
    return this.fleet.reset(caller, tenantId, input.actor);
  }
}
