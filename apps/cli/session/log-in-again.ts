import { shellWord } from '../output/shell-word.js';
import type { Login } from './login-store.js';

/** What of a login tells how it was made. */
export interface KnownLogin extends Pick<Login, 'server'> {
  /** Where the server's roots were read from; absent where the system's do. */
  readonly certificateAuthorityFile?: string | undefined;
  /** Absent: by an API token. */
  readonly issued?: { readonly issuer: { readonly name: string } } | undefined;
}

/** The command that logs in as before, whole: also without a terminal. Which file an API token came from is not kept, so FILE stands for it. */
export function logInAgain({ server, certificateAuthorityFile, issued }: KnownLogin): string {
  const roots = certificateAuthorityFile === undefined ? '' : ` --ca-file ${shellWord(certificateAuthorityFile)}`;
  const by = issued ? `--issuer ${shellWord(issued.issuer.name)}` : '--token-file FILE';
  return `fairlead login --server ${server}${roots} ${by}`;
}
