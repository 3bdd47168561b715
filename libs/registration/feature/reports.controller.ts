import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { LinkProblems } from './link-problems.js';
import { ReportedFacts } from './reported-facts.js';

type Asked<Method extends keyof typeof registrationRpc> = RpcRequest<(typeof registrationRpc)[Method]>;

/** The part of registration's contract that is about what gateways see and hear of links. */
@Controller()
export class ReportsController {
  constructor(
    private readonly troubles: LinkProblems,
    private readonly facts: ReportedFacts,
  ) {}

  @RpcHandler(registrationRpc.reportTroubles)
  async reportTroubles({ caller, input }: Asked<'reportTroubles'>) {
    await this.troubles.report(caller, input.troubles);
    return {};
  }

  @RpcHandler(registrationRpc.reportFacts)
  async reportFacts({ caller, input }: Asked<'reportFacts'>) {
    await this.facts.report(caller, input.clusters);
    return {};
  }
}
