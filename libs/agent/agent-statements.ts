import { X509Certificate } from 'node:crypto';
import type { StatementVerifier } from '@fairlead/access-statement';
import type { SignedTime } from '@fairlead/access-statement/signed-time';
import { messageOf } from '@fairlead/errors';
import type { Logger } from '@fairlead/observability';
import type { ShownStatement, StatementEnd } from '@fairlead/tunnel/agent';
import type { AgentRevocations } from './agent-revocations.js';
import type { HeldIdentity } from './held-identity.js';
import { assertStands } from './kube-api/end-with-statement.js';

interface AgentStatementsOptions {
  readonly identity: HeldIdentity;
  readonly time: SignedTime;
  /** What the cluster's own configuration says; a signed list may require more, and nobody less. */
  readonly required: boolean;
  readonly revocations: AgentRevocations;
  readonly logger: Logger;
}

/** Verifies what people show by the roots that this agent trusts now, and refuses what was revoked. */
export class AgentStatements implements StatementEnd {
  readonly #required: boolean;
  readonly #identity: HeldIdentity;
  readonly #time: SignedTime;
  readonly #revocations: AgentRevocations;
  readonly #logger: Logger;
  #verifier: Promise<StatementVerifier> | undefined;

  constructor({ identity, time, required, revocations, logger }: AgentStatementsOptions) {
    this.#required = required;
    this.#identity = identity;
    this.#time = time;
    this.#revocations = revocations;
    this.#logger = logger;
  }

  get required(): boolean {
    return this.#required || this.#revocations.requires(this.#identity.current.clusterId);
  }

  onRequired(listener: () => void): () => void {
    return this.#revocations.onChange(listener);
  }

  async open(envelope: Uint8Array, cluster: { readonly clusterId: string }): Promise<ShownStatement> {
    this.#verifier ??= this.#load();
    const verified = await (await this.#verifier).open(envelope, cluster);
    const revocations = this.#revocations;
    revocations.saw(verified.statement);
    const shown: ShownStatement = {
      ...verified,
      whyRevoked: () => revocations.whyRevoked(verified.statement),
      onRevocations: (listener) => revocations.onChange(listener),
    };
    assertStands(shown);
    return shown;
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
