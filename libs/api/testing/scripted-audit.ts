import { auditRpc, type AuditEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';

type A = typeof auditRpc;

const ENTRIES: readonly AuditEntry[] = [1, 2, 3].map((number) => ({
  number,
  at: `2026-01-0${number}T10:00:00.000Z`,
  recordedAt: `2026-01-0${number}T10:00:01.000Z`,
  kind: 'event',
  source: 'access',
  user: 'corp:alice',
  cluster: '',
  action: `grant.created grant/${number}`,
  decision: '',
  body: { type: 'dev.fairlead.grant.created.v1' },
}));

/** The audit service, with three entries in every log; of filters it knows the user. */
@Controller()
export class AuditScript {
  @RpcHandler(auditRpc.search)
  async search({ input: { after = 4, limit, user = 'corp:alice' } }: RpcRequest<A['search']>): RpcResult<A['search']> {
    const left = ENTRIES.filter((entry) => entry.number < after && entry.user === user).toReversed();
    const entries = left.slice(0, limit);
    const last = entries.at(-1);
    return last && entries.length < left.length ? { entries, next: last.number } : { entries };
  }

  @RpcHandler(auditRpc.read)
  async read({ input: { after = ENTRIES.length, limit } }: RpcRequest<A['read']>): RpcResult<A['read']> {
    const entries = ENTRIES.filter(({ number }) => number > after).slice(0, limit);
    return { entries, next: entries.at(-1)?.number ?? after, size: ENTRIES.length };
  }

  @RpcHandler(auditRpc.get)
  async get({ input: { number } }: RpcRequest<A['get']>): RpcResult<A['get']> {
    const entry = ENTRIES.find((each) => each.number === number);
    if (!entry) throw new FairleadError('NOT_FOUND', `there is no entry ${number} yet`);
    return entry;
  }

  @RpcHandler(auditRpc.producers)
  async producers(): RpcResult<A['producers']> {
    return { producers: [] };
  }
}
