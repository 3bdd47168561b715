import type { CallOptions } from '@connectrpc/connect';

/** ConfigMaps of the agent's namespace, as far as it needs them. Each call has a deadline of its own. */
export interface HandoverMaps {
  /** Text values. NOT_FOUND: there is none; FORBIDDEN: this agent was installed without the right to it. */
  read(name: string, options?: { readonly cached?: boolean }): Promise<Readonly<Record<string, string>>>;
  /** Sets these values in one step and leaves others alone. Never creates one. */
  write(
    name: string,
    change: {
      readonly data?: Readonly<Record<string, string>>;
      readonly binaryData?: Readonly<Record<string, string>>;
    },
  ): Promise<void>;
}

/** A link, as far as GitOps uses it. */
export interface CarryingLink {
  report(json: Uint8Array): void;
  fetchBundle(
    request: { digest: string; offset: number },
    options: CallOptions,
  ): Promise<{ readonly piece: Uint8Array; readonly compressedBytes: number }>;
}
