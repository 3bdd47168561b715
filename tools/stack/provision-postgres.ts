import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SERVICE_NAMES } from '@fairlead/contracts';
import { FairleadError, messageOf } from '@fairlead/errors';
import { prepareDatabases } from './control-plane/databases.js';
import { openStateDir } from './state/state-dir.js';

const USAGE = `Usage: node tools/stack/dist/provision-postgres.js --url-file FILE --state-dir DIR [--address HOST:PORT]

Creates the database on a Postgres of your own, and for each of ${SERVICE_NAMES.join(', ')} a role and a schema, or brings them up to
date, as the administrator whose URL the file holds: postgres://USER:PASSWORD@HOST:PORT/postgres?sslmode=verify-full, checked
against the CA in DIR. Leaves the URL of each service in DIR/secrets, with --address if they reach it elsewhere.
May be repeated. It takes two connections at once, or one where the URL names the database itself (…/fairlead), which is there then.
`;

const PORT_FORWARD =
  'Is that a kubectl port-forward? It ends with the first connection that is reset: start it anew if it is no longer there';

process.exitCode = await main();

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({ options: { 'url-file': text, 'state-dir': text, address: text } });
    const { 'url-file': urlFile, 'state-dir': stateDir, address } = values;
    if (urlFile === undefined || stateDir === undefined) {
      throw new Error(`--url-file and --state-dir are needed\n\n${USAGE}`);
    }
    using state = openStateDir(stateDir);
    await prepareDatabases(state, readFileSync(urlFile, 'utf8').trim(), address);
    return 0;
  } catch (error) {
    const isAway = error instanceof FairleadError && error.code === 'UNAVAILABLE';
    process.stderr.write(`${messageOf(error)}${isAway ? `. ${PORT_FORWARD}` : ''}\n`);
    return 1;
  }
}
