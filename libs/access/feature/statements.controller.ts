import { accessRpc } from '@fairlead/contracts';
import { RpcHandler, type RpcRequest } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { IssueStatement } from './issue-statement.js';

/** The part of the contract about access statements. */
@Controller()
export class StatementsController {
  constructor(private readonly statements: IssueStatement) {}

  @RpcHandler(accessRpc.issueStatement)
  async issueStatement({ input }: RpcRequest<(typeof accessRpc)['issueStatement']>) {
    return this.statements.issue(input);
  }
}
