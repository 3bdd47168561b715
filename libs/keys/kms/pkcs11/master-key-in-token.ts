import type { KeySource } from '../../store/master-key.js';
import { TokenProcess, type TokenProcessOptions } from './token-process.js';

export interface TokenKeyOptions extends TokenProcessOptions {
  /** CKA_LABEL of an AES key of 256 bits that cannot be extracted: letters, digits, `.`, `_` and `-`, at most 64, no dot at first. */
  readonly keyLabel: string;
}

/**
 * An AES key that never leaves a PKCS #11 token, which encrypts data keys by CKM_AES_GCM. Its name is the key's URI (RFC 7512). What any other
 * key of the same token sealed is opened by that key.
 */
export function masterKeyInToken(options: TokenKeyOptions): KeySource {
  const token = new TokenProcess(options);
  const prefix = `pkcs11:token=${encodeURIComponent(options.tokenLabel)};object=`;
  const keyName = `${prefix}${options.keyLabel}`;
  const labelIn = (name: string | null): string | null => {
    const label = name?.startsWith(prefix) ? name.slice(prefix.length) : '';
    return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(label) ? label : null;
  };
  return {
    open: async () => {
      // Wrong settings are told at the start, not when the first secret is sealed.
      await token.ask({ ask: 'find', keyLabel: options.keyLabel });
      return {
        current: async () => keyName,
        wrap: async (bytes, context) => ({
          keyName,
          bytes: await token.ask({ ask: 'wrap', keyLabel: options.keyLabel, context, bytes }),
        }),
        opens: (name) => labelIn(name) !== null,
        unwrap: ({ keyName: name, bytes }, context) =>
          token.ask({ ask: 'unwrap', keyLabel: labelIn(name) ?? options.keyLabel, context, bytes }),
      };
    },
  };
}
