/** Which token, and what opens it. */
export interface TokenSettings {
  /** The PKCS #11 library. */
  readonly modulePath: string;
  readonly tokenLabel: string;
}

/** What the process that has the token is asked, one at a time. */
export type TokenRequest =
  | { readonly ask: 'open'; readonly settings: TokenSettings; readonly pin: Uint8Array }
  | { readonly ask: 'find'; readonly keyLabel: string }
  | {
      readonly ask: 'wrap' | 'unwrap';
      readonly keyLabel: string;
      readonly context: string;
      readonly bytes: Uint8Array;
    };

/**
 * `data`: not the key, context or bytes that it was made with. `pin`: the token refuses the PIN, and counts. `settings`: a person has to
 * change something. `away`: anything else; whoever asks begins with a new process.
 */
export type TokenFailure = 'data' | 'pin' | 'settings' | 'away';

export type TokenAnswer = { readonly bytes: Uint8Array } | { readonly failure: TokenFailure; readonly message: string };
