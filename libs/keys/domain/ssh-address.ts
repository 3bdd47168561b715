import { FairleadError } from '@fairlead/errors';

/**
 * Where clusters fetch a repository: user and path as the host says, host and port as its administrator configured them, because it is for
 * those that keys are pinned. PROTOCOL_ERROR for what is no address for Git over SSH.
 */
export function clusterSshUrl(
  { sshHost, sshPort }: { readonly sshHost: string; readonly sshPort: number },
  hostSays: string,
): string {
  const [, user = '', path = ''] = SSH_URL.exec(hostSays) ?? SCP_FORM.exec(hostSays) ?? [];
  if (user === '' || path === '') throw new FairleadError('PROTOCOL_ERROR', 'the Git host gives no address for SSH');
  return sshUrl({ sshHost, sshPort }, user, path);
}

/** Of a host that is not asked: the way most have it. */
export function usualSshUrl(address: { readonly sshHost: string; readonly sshPort: number }, path: string): string {
  return sshUrl(address, 'git', `${path}.git`);
}

const SSH_URL = /^ssh:\/\/([A-Za-z0-9_][A-Za-z0-9_-]{0,31})@[^/]+\/([A-Za-z0-9][A-Za-z0-9._~/-]{0,700})$/;
const SCP_FORM = /^([A-Za-z0-9_][A-Za-z0-9_-]{0,31})@[^:/]+:\/?([A-Za-z0-9][A-Za-z0-9._~/-]{0,700})$/;

function sshUrl(address: { readonly sshHost: string; readonly sshPort: number }, user: string, path: string): string {
  const port = address.sshPort === 22 ? '' : `:${address.sshPort}`;
  return `ssh://${user}@${address.sshHost}${port}/${path}`;
}
