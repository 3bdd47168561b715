import { z } from 'zod';

/**
 * One host key, as a line of `known_hosts` has it: the host as it is dialled (`git.example.com`, or `[git.example.com]:2222` for
 * another port than 22), the key's type and the key. No patterns, hashes, markers or comments: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT.
 */
export const KnownHost = z.object({
  host: z.string().regex(/^([a-zA-Z0-9][a-zA-Z0-9.-]{0,252}|\[[a-zA-Z0-9:][a-zA-Z0-9.:-]{0,252}\]:[1-9]\d{0,4})$/),
  type: z.enum(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521', 'ssh-rsa']),
  key: z.base64().min(32).max(2_048),
});
export type KnownHost = z.infer<typeof KnownHost>;

/** The text of a `known_hosts` file, one line each. */
export function formatKnownHosts(hosts: readonly KnownHost[]): string {
  return hosts.map(({ host, type, key }) => `${host} ${type} ${key}\n`).join('');
}
