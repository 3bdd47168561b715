import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@fairlead/clock';
import { isRegion } from '@fairlead/pki';
import type { AgentIdentity } from './agent-identity.js';
import { BRIEF_MS } from './retry-pace.js';
import { EndpointChoice, type KnownEndpoints } from './endpoint-choice.js';
import type { Endpoint } from './forward-proxy.js';
import type { HeldIdentity } from './held-identity.js';
import { withoutFormer } from './known-endpoints.js';

/** The choice of endpoints, as the identity that is held now knows them. */
export class FollowedEndpoints {
  readonly choice: EndpointChoice;
  readonly #identity: HeldIdentity;
  readonly #clock: Clock;
  #region: string | undefined;
  #known: KnownEndpoints = {};
  #changed = new AbortController();

  /** `own`: of the import manifest. `region`: where the agent is, if that was said. */
  constructor(identity: HeldIdentity, own: readonly Endpoint[], region: string | undefined, clock: Clock) {
    this.choice = new EndpointChoice(own, clock);
    this.#identity = identity;
    this.#clock = clock;
    this.#region = region;
    identity.onChange(() => this.#follow());
    this.#follow();
  }

  /** Aborted when something else is known. */
  readonly changed = (): AbortSignal => this.#changed.signal;

  /** Its nodes say so; what was said in its settings goes before. */
  locate(region: string | undefined): void {
    if (this.#region !== undefined || region === undefined || !isRegion(region)) return;
    this.#region = region;
    this.#follow();
  }

  /** A link stands there. Once it has for a while, and the endpoint is one that is named, those that were named before are forgotten. */
  async worked(endpoint: Endpoint, over: AbortSignal): Promise<void> {
    this.choice.worked(endpoint);
    await this.#clock.sleep(BRIEF_MS, over).catch(() => undefined);
    if (over.aborted || !this.choice.isActive(endpoint)) return;
    // Asked again once what another pod has stored is held: if this endpoint is a former one by then, nobody knows yet of one that works.
    const forget = (identity: AgentIdentity): AgentIdentity =>
      this.choice.isActive(endpoint) ? withoutFormer(identity) : identity;
    // What cannot be stored now is forgotten another time.
    await this.#identity.change(forget).catch(() => undefined);
  }

  #follow(): void {
    const { endpoints, formerEndpoints } = this.#identity.current;
    const known: KnownEndpoints = { endpoints, formerEndpoints, region: this.#region };
    if (isDeepStrictEqual(known, this.#known)) return;
    this.#known = known;
    this.choice.follow(known);
    this.#changed.abort();
    this.#changed = new AbortController();
  }
}
