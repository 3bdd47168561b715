import type { LinkEndpoint } from '@fairlead/pki';

/** An endpoint that a trust bundle names. */
export const named = (host: string, more: Partial<LinkEndpoint> = {}): LinkEndpoint => ({
  address: `${host}:443`,
  weight: 1,
  state: 'active',
  ...more,
});
