import { auditRpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

type A = typeof auditRpc;

/** The audit service, with the script's entries in every log; of filters it knows the user, and where the log is read in its order, the time. */
@Controller()
export class AuditScript {
  constructor(private readonly script: Script) {}

  @RpcHandler(auditRpc.search)
  async search({
    input: { after = Infinity, limit, user = 'corp:alice' },
  }: RpcRequest<A['search']>): RpcResult<A['search']> {
    const left = this.script.auditLog.filter((entry) => entry.number < after && entry.user === user).toReversed();
    const entries = left.slice(0, limit);
    const last = entries.at(-1);
    return last && entries.length < left.length ? { entries, next: last.number } : { entries };
  }

  @RpcHandler(auditRpc.read)
  async read({ input: { after, limit, from = '' } }: RpcRequest<A['read']>): RpcResult<A['read']> {
    const { auditLog } = this.script;
    const size = auditLog.length;
    if (after === undefined) return { entries: [], next: size, size };
    const failure = this.script.auditFailure(after);
    if (failure) throw failure;
    const left = auditLog.filter(({ number, at }) => number > after && at >= from);
    const entries = left.slice(0, limit);
    // What did not match is behind the reader too.
    const next = entries.length < left.length ? entries.at(-1)!.number : Math.max(after, size);
    return { entries, next, size };
  }

  @RpcHandler(auditRpc.get)
  async get({ input: { number } }: RpcRequest<A['get']>): RpcResult<A['get']> {
    const entry = this.script.auditLog.find((each) => each.number === number);
    if (!entry) throw new FairleadError('NOT_FOUND', `there is no entry ${number} yet`);
    return entry;
  }

  @RpcHandler(auditRpc.producers)
  async producers(): RpcResult<A['producers']> {
    return { producers: [] };
  }
}
