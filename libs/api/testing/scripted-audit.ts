import { auditRpc, type AuditEntry } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import { RpcHandler, type RpcRequest, type RpcResult } from '@fairlead/messaging';
import { Controller } from '@nestjs/common';
import { Script } from './script.js';

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

/** The audit service, with three entries in every log unless it is told others; of filters it knows the user, and where the log is read in its order, the time. */
@Controller()
export class AuditScript {
  constructor(private readonly script: Script) {}

  get #entries(): readonly AuditEntry[] {
    return this.script.auditEntries ?? ENTRIES;
  }

  @RpcHandler(auditRpc.search)
  async search({
    input: { after = Infinity, limit, user = 'corp:alice' },
  }: RpcRequest<A['search']>): RpcResult<A['search']> {
    const left = this.#entries.filter((entry) => entry.number < after && entry.user === user).toReversed();
    const entries = left.slice(0, limit);
    const last = entries.at(-1);
    return last && entries.length < left.length ? { entries, next: last.number } : { entries };
  }

  @RpcHandler(auditRpc.read)
  async read({ input }: RpcRequest<A['read']>): RpcResult<A['read']> {
    const size = this.#entries.length;
    const { after = size, limit, from = '' } = input;
    const left = this.#entries.filter(({ number, at }) => number > after && at >= from);
    const entries = left.slice(0, limit);
    return { entries, next: entries.length < left.length ? (entries.at(-1)?.number ?? after) : size, size };
  }

  @RpcHandler(auditRpc.get)
  async get({ input: { number } }: RpcRequest<A['get']>): RpcResult<A['get']> {
    const entry = this.#entries.find((each) => each.number === number);
    if (!entry) throw new FairleadError('NOT_FOUND', `there is no entry ${number} yet`);
    return entry;
  }

  @RpcHandler(auditRpc.producers)
  async producers(): RpcResult<A['producers']> {
    return { producers: [] };
  }
}
