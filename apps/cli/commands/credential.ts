import type { Command } from 'commander';
import { failure } from '../failure.js';
import type { Io } from '../io.js';
import { printJson } from '../output/print.js';
import { currentLogin } from '../session/current-login.js';
import { loadLogin, type Login } from '../session/login-store.js';
import { currentStatement, type Statement } from '../session/statement.js';

/** How long kubectl and long-running tools keep the token before they ask again: a changed login is soon picked up. */
const KEEP_MS = 60_000;

const CREDENTIAL_HELP = `
With --cluster, a signed access statement goes with the token: what you may do there, which the agent in the cluster holds each request to. It is
fetched once a minute, kept below $FAIRLEAD_HOME, and good until its end while the server is away.

Examples:
  fairlead credential --cluster demo
  fairlead credential --cluster demo | jq -r .status.expirationTimestamp`;

export interface CredentialOptions {
  readonly server?: string | undefined;
  readonly cluster?: string | undefined;
}

/** The exec plugin behind a kubeconfig. */
export function addCredentialCommand(program: Command, io: Io): void {
  program
    .command('credential')
    .summary('print the token for kubectl (a client-go credential plugin)')
    .description('Print the token of the stored login as kubectl wants it. Kubeconfigs made by this command call it.')
    .option('--server <url>', 'only if the stored login is for this server')
    .option('--cluster <name>', 'the cluster that it is for')
    .addHelpText('after', CREDENTIAL_HELP)
    .action((options: CredentialOptions) => credential(io, options));
}

/** Prints what client-go wants of an exec plugin. UNAUTHENTICATED. */
export async function credential(io: Io, { server, cluster }: CredentialOptions): Promise<void> {
  const stored = await loadLogin(io.config.home);
  if (server !== undefined && stored.server !== server) {
    const next = `fairlead login --server ${server}, or make a new kubeconfig`;
    throw failure(
      'UNAUTHENTICATED',
      `this kubeconfig is for ${server}, and you are logged in to ${stored.server}`,
      next,
    );
  }
  const login = await currentLogin(io, stored);
  const statement = cluster === undefined ? undefined : await currentStatement(io, login, cluster);
  printJson(io, execCredential(login, statement, io.now()));
}

/** What an exec plugin prints for kubectl (client.authentication.k8s.io/v1). */
function execCredential({ token, issued }: Login, statement: Statement | undefined, now: Date): object {
  const ends = [issued?.expiresAt, statement?.openUntil].flatMap((end) => (end === undefined ? [] : Date.parse(end)));
  const untilMs = Math.min(now.getTime() + KEEP_MS, ...ends);
  return {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: {
      token: statement ? `${token}~${statement.statement}` : token,
      expirationTimestamp: new Date(untilMs).toISOString(),
    },
  };
}
