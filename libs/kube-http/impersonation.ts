import { FairleadError } from '@fairlead/errors';

/** Who a tunnel acts as, for its whole life. */
export interface TunnelIdentity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: readonly { readonly key: string; readonly values: readonly string[] }[];
}

const MAX_NAME_BYTES = 512;
const MAX_GROUPS = 64;
const MAX_EXTRAS = 32;
const MAX_EXTRA_VALUES = 16;
/** The one identity of the `system:` family that everybody has. */
const ALLOWED_SYSTEM_GROUP = 'system:authenticated';

/**
 * Throws IDENTITY_REFUSED unless this is an identity that an agent may write into its impersonation headers: somebody,
 * nobody of the `system:` family, within bounds, and nothing that could end a header line.
 */
export function assertAcceptable(identity: TunnelIdentity): void {
  if (identity.user === '') throw refuse('it names no user');
  if (isSystem(identity.user)) throw refuse('it names a user of the system: family');
  if (identity.groups.some((group) => isSystem(group) && group !== ALLOWED_SYSTEM_GROUP)) {
    throw refuse('it names a group of the system: family');
  }
  if (identity.groups.length > MAX_GROUPS) throw refuse(`it names more than ${MAX_GROUPS} groups`);
  if (identity.extra.length > MAX_EXTRAS) throw refuse(`it carries more than ${MAX_EXTRAS} extras`);
  if (identity.extra.some(({ values }) => values.length > MAX_EXTRA_VALUES)) {
    throw refuse(`an extra has more than ${MAX_EXTRA_VALUES} values`);
  }
  const texts = [identity.user, ...identity.groups, ...identity.extra.flatMap(({ key, values }) => [key, ...values])];
  if (!texts.every(isHeaderSafe)) throw refuse('a name in it is empty, too long, or holds a control character');
}

/** The impersonation headers of this identity, as a raw list. Extra keys are percent-escaped, as client-go does. */
export function impersonationHeaders(identity: TunnelIdentity): string[] {
  return [
    'Impersonate-User',
    identity.user,
    ...identity.groups.flatMap((group) => ['Impersonate-Group', group]),
    ...identity.extra.flatMap(({ key, values }) => {
      const name = `Impersonate-Extra-${escapeKey(key)}`;
      return values.flatMap((value) => [name, value]);
    }),
  ];
}

/** As client-go's headerKeyEscape. encodeURIComponent leaves two characters that no header name may hold. */
function escapeKey(key: string): string {
  return encodeURIComponent(key).replaceAll('(', '%28').replaceAll(')', '%29');
}

/** Case-folded, because a kube-apiserver elsewhere in the chain might fold too. */
function isSystem(name: string): boolean {
  return name.trim().toLowerCase().startsWith('system:');
}

function isHeaderSafe(text: string): boolean {
  if (text === '' || text !== text.trim() || Buffer.byteLength(text) > MAX_NAME_BYTES) return false;
  // Header values are Latin-1 on the wire: a character beyond it would be cut down to another one.
  return /^[\x20-\x7e]+$/.test(text);
}

function refuse(why: string): FairleadError {
  return new FairleadError('IDENTITY_REFUSED', `the agent refuses this identity: ${why}`);
}
