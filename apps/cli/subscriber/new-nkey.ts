import { createUser } from '@nats-io/nkeys';

/** A new nkey of a user. The seed is the secret. */
export function newNkey(): { readonly seed: string; readonly publicKey: string } {
  const pair = createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}
