import { X509Certificate } from 'node:crypto';
import type { StatementVerifier, VerifiedStatement } from '@fairlead/access-statement';
import type { SignedTime } from '@fairlead/access-statement/signed-time';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { StatementEnd } from '@fairlead/tunnel/agent';
import type { HeldIdentity } from './held-identity.js';

interface AgentStatementsOptions {
  readonly identity: HeldIdentity;
  readonly time: SignedTime;
  /** What the cluster's own configuration says: no gateway lowers it. */
  readonly required: boolean;
  readonly logger: Logger;
}

/** Verifies what people show by the roots that this agent trusts now. */
export class AgentStatements implements StatementEnd {
  readonly required: boolean;
  readonly #identity: HeldIdentity;
  readonly #time: SignedTime;
  readonly #logger: Logger;
  #verifier: Promise<StatementVerifier> | undefined;

  constructor({ identity, time, required, logger }: AgentStatementsOptions) {
    this.required = required;
    this.#identity = identity;
    this.#time = time;
    this.#logger = logger;
  }

  async open(envelope: Uint8Array, cluster: { readonly clusterId: string }): Promise<VerifiedStatement> {
    this.#verifier ??= this.#load();
    return (await this.#verifier).open(envelope, cluster);
  }

  /** What reads certificates is loaded when it is needed: an agent that starts is waited for. */
  async #load(): Promise<StatementVerifier> {
    const { StatementVerifier } = await import('@fairlead/access-statement');
    const sawBundle = (): void => {
      const [leaf] = this.#identity.current.signedTrust?.signerChain ?? [];
      if (leaf === undefined) return;
      try {
        this.#time.saw(new X509Certificate(leaf).validFromDate.getTime());
      } catch (error) {
        this.#logger.warn('statement.time_unread', { reason: messageOf(error) });
      }
    };
    sawBundle();
    this.#identity.onChange(sawBundle);
    return new StatementVerifier({ trust: () => this.#identity.current, time: this.#time });
  }
}
