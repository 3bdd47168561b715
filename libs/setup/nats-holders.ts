import { SINGLETONS } from '@fairlead/contracts';
import type { Holder } from '@fairlead/messaging';

/** Who creates streams and buckets. */
export const OPERATOR: Holder = { role: 'operator', credential: 'operator' };

/** Everybody who has a NATS user: the operator, one for each process that there is once, and one for each gateway. */
export function holdersOf(gateways: readonly string[]): readonly Holder[] {
  return [
    OPERATOR,
    ...SINGLETONS.map((role) => ({ role, credential: role })),
    ...gateways.map((credential) => ({ role: 'gateway' as const, credential })),
  ];
}
