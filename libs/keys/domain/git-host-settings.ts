import { X509Certificate } from 'node:crypto';
import type { GitHostKind, PutGitHost } from '@fairlead/contracts';
import { FairleadError } from '@fairlead/errors';

/** What an administrator configured, without the token. */
export interface GitHostSettings {
  readonly kind: GitHostKind;
  /** Null with `manual`. */
  readonly url: string | null;
  readonly sshHost: string;
  readonly sshPort: number;
  readonly caPem: string | null;
  readonly createRepositories: boolean;
}

/**
 * What a host is to be, and whether the token that is held for it may stay. A held token goes nowhere else than where its
 * administrator sent it: with another address or authority it has to be given again, or whoever may change the one could read the
 * other. INVALID_ARGUMENT; CONFLICT for another kind of host.
 */
export function settleGitHost(
  input: Omit<PutGitHost, 'name'>,
  before: GitHostSettings | null,
): { readonly settings: GitHostSettings; readonly keepsToken: boolean } {
  const { kind, url, sshPort, caPem, createRepositories, token } = input;
  if (before && before.kind !== kind) {
    throw new FairleadError(
      'CONFLICT',
      `this Git host is of kind ${before.kind}: delete it first, or take another name`,
    );
  }
  const sshHost = input.sshHost ?? (url === null ? undefined : hostOf(url));
  if (sshHost === undefined) throw invalid('say where clusters fetch by SSH: sshHost');
  const settings: GitHostSettings = { kind, url, sshHost, sshPort, caPem, createRepositories };
  if (kind === 'manual') {
    const given = [url, caPem, token].some((value) => value !== null && value !== undefined);
    if (given || createRepositories)
      throw invalid('a manual host has no API: no url, caPem, token or createRepositories');
    return { settings, keepsToken: false };
  }
  if (url === null) throw invalid('say where the API is: url');
  if (caPem !== null) checkAuthority(caPem);
  if (token !== undefined) return { settings, keepsToken: false };
  if (!before) throw invalid('a token is needed to add deploy keys');
  if (before.url !== url || before.caPem !== caPem) {
    throw invalid(
      'give the token again: the one that is held is not sent to another address, or under another authority',
    );
  }
  return { settings, keepsToken: true };
}

/** `git.example.com` of `https://git.example.com:8443/gitlab`. */
function hostOf(url: string): string {
  const { hostname } = new URL(url);
  if (hostname.startsWith('[')) throw invalid('say where clusters fetch by SSH: sshHost, a name or an IPv4 address');
  return hostname;
}

function checkAuthority(caPem: string): void {
  const blocks = caPem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const block of blocks) void new X509Certificate(block);
  } catch (cause) {
    throw new FairleadError('INVALID_ARGUMENT', 'caPem: a certificate in it cannot be read', { cause });
  }
  if (blocks.length === 0 || blocks.length > 16) throw invalid('caPem: expected 1 to 16 certificates in PEM');
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', why);
}
