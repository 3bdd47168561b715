import type { Principal } from '@fairlead/contracts';
import type { FastifyRequest } from 'fastify';

/** A request with what guards and filters found out about it. */
export interface ApiRequest extends FastifyRequest {
  /** Set by the guard on every operation that asks for a token. */
  principal?: Principal;
  /** The error code it was answered with. */
  problemCode?: string;
}
