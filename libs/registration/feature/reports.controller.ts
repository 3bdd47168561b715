import { registrationRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { LinkProblems } from './link-problems.js';
import { ReportedFacts } from './reported-facts.js';

type Rpcs = typeof registrationRpc;

/** The part of registration's contract that is about what gateways see and hear of links. */
@Controller()
export class ReportsController {
  readonly #troubles: LinkProblems;
  readonly #facts: ReportedFacts;

  constructor(troubles: LinkProblems, facts: ReportedFacts) {
    this.#troubles = troubles;
    this.#facts = facts;
  }

  @RpcHandler(registrationRpc.reportTroubles)
  async reportTroubles({ caller, input }: RpcRequest<Rpcs['reportTroubles']>): RpcResult<Rpcs['reportTroubles']> {
    await this.#troubles.report(caller, input.troubles);
    return {};
  }

  @RpcHandler(registrationRpc.reportFacts)
  async reportFacts({ caller, input }: RpcRequest<Rpcs['reportFacts']>): RpcResult<Rpcs['reportFacts']> {
    await this.#facts.report(caller, input.clusters);
    return {};
  }
}
