import {
  MAX_PASSAGES,
  comparePlaces,
  gatewayRpc,
  placeOfPassage,
  placeText,
  readPlace,
  type EndedPassages,
  type PassageList,
  type PassagePage,
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
  async list(tenantId: string, asked: PassagePage): Promise<PassageList> {
    const { answers, silent } = await this.#askAll(gatewayRpc.listPassages, tenantId, asked);
    const after = asked.after === undefined ? null : readPlace(asked.after);
    const all = answers
      .flatMap(({ passages }) => passages.map((passage) => ({ passage, place: placeOfPassage(passage) })))
      // A gateway that is older than pages begins with its oldest each time.
      .filter(({ place }) => after === null || comparePlaces(after, place) < 0)
      .sort((one, other) => comparePlaces(one.place, other.place));
    const told = all.slice(0, MAX_PASSAGES);
    const more = answers.reduce((sum, answer) => sum + answer.more, all.length - told.length);
    const last = told.at(-1);
    const next = more > 0 && last ? { next: placeText(last.place) } : {};
    return { passages: told.map(({ passage }) => passage), more, ...next, silent };
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
