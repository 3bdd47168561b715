import {
  MAX_PASSAGES,
  gatewayRpc,
  type EndedPassages,
  type PassageFilter,
  type PassageList,
  type Rpc,
} from '@fairlead/contracts';
import { toFairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import type { Logger } from '@fairlead/observability';
import type { z } from 'zod';

interface OpenPassagesOptions {
  readonly rpc: RpcClient;
  /** Credentials of the gateways that live. */
  readonly gateways: () => readonly string[];
  readonly logger: Logger;
}

interface Answers<Answer> {
  readonly answers: readonly Answer[];
  readonly silent: string[];
}

/** What goes through the doors of all gateways: each is asked for itself, and one that does not answer is named. */
export class OpenPassages {
  constructor(private readonly options: OpenPassagesOptions) {}

  /** See `registrationRpc.listPassages`. */
  async list(tenantId: string, filter: PassageFilter): Promise<PassageList> {
    const { answers, silent } = await this.#askAll(gatewayRpc.listPassages, tenantId, filter);
    const all = answers.flatMap(({ passages }) => passages).sort((one, other) => (one.since < other.since ? -1 : 1));
    const left = answers.reduce((sum, { more }) => sum + more, 0);
    const passages = all.slice(0, MAX_PASSAGES);
    return { passages, more: left + all.length - passages.length, silent };
  }

  /** See `registrationRpc.endPassages`. */
  async end(tenantId: string, asked: z.output<typeof gatewayRpc.endPassages.input>): Promise<EndedPassages> {
    const { answers, silent } = await this.#askAll(gatewayRpc.endPassages, tenantId, asked);
    const ended = answers.reduce((sum, answer) => sum + answer.ended, 0);
    const { by, reason, ...filter } = asked;
    this.options.logger.warn('sessions.ended', { tenantId, by, reason, ...filter, ended, silent });
    return { ended, silent };
  }

  /** A replica is one message away, and no other knows what it knows. */
  async #askAll<In extends z.ZodType, Out extends z.ZodType>(
    rpc: Rpc<In, Out>,
    tenantId: string,
    input: z.input<In>,
  ): Promise<Answers<z.output<Out>>> {
    const silent: string[] = [];
    const asked = this.options.gateways().map(async (replica) => {
      try {
        return [await this.options.rpc.call(rpc, tenantId, input, { replica })];
      } catch (error) {
        const { code, message } = toFairleadError(error);
        this.options.logger.warn('gateway.silent', { gateway: replica, method: rpc.method, code, reason: message });
        silent.push(replica);
        return [];
      }
    });
    const answers = (await Promise.all(asked)).flat();
    return { answers, silent: silent.sort() };
  }
}
