/**
 * The same address, as another one to Argo CD: it finds keys, clones and the answers it remembers by the address, without a difference
 * of case or of a last `.git`. One letter of the path is percent-encoded: Git and Argo CD's own client decode it before they ask the host
 * (https://git-scm.com/docs/git-clone#_git_urls, RFC 3986). Null if the path has no letter.
 */
export function otherSpelling(url: string): string | null {
  const [, host = '', path = ''] = /^(ssh:\/\/[^/]+\/)(.*)$/.exec(url) ?? [];
  const at = path.search(/[a-zA-Z]/);
  if (at === -1) return null;
  return `${host}${path.slice(0, at)}%${path.charCodeAt(at).toString(16)}${path.slice(at + 1)}`;
}
