import type { Rpc } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';
import type { RpcClient } from '@fairlead/messaging';
import type { z } from 'zod';

/** The services behind the API. */
export class Backend {
  constructor(private readonly client: RpcClient) {}

  /** Asks for something that changes nothing: no answer in time is as good as not sent, so it becomes UNAVAILABLE. */
  async read<In extends z.ZodType, Out extends z.ZodType>(
    rpc: Rpc<In, Out>,
    tenantId: string,
    input: z.input<In>,
  ): Promise<z.output<Out>> {
    try {
      return await this.client.call(rpc, tenantId, input);
    } catch (error) {
      if (!(error instanceof FairleadError) || error.code !== 'DEADLINE_EXCEEDED') throw error;
      throw new FairleadError('UNAVAILABLE', error.message, { cause: error });
    }
  }

  /** Asks for a change. DEADLINE_EXCEEDED means that it may or may not have happened. */
  write<In extends z.ZodType, Out extends z.ZodType>(
    rpc: Rpc<In, Out>,
    tenantId: string,
    input: z.input<In>,
  ): Promise<z.output<Out>> {
    return this.client.call(rpc, tenantId, input);
  }
}
