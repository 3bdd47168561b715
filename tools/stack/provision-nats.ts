import { parseArgs } from 'node:util';
import { messageOf } from '@fairlead/errors';
import { connectNats, provisionJetStream, type ConnectNatsOptions } from '@fairlead/messaging';
import { createLogger } from '@fairlead/observability';

const USAGE = `Usage: node tools/stack/dist/provision-nats.js --url tls://HOST:PORT --seed-file FILE --ca-file FILE

Creates the event stream and the KV buckets on a nats-server of your own, or brings them up to date, as the user
"operator" whose nkey seed the file holds. Run it before the first start and after an upgrade; npm start does it by itself.
Without --ca-file a server at tls:// has to have a certificate that this system trusts, and one at nats:// to be on loopback.
`;
const DEADLINE_MS = 60_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  try {
    const { values } = parseArgs({ options: { url: text, 'seed-file': text, 'ca-file': text } });
    const { url, 'seed-file': seedFile, 'ca-file': caFile } = values;
    if (url === undefined || seedFile === undefined) throw new Error(`--url and --seed-file are needed\n\n${USAGE}`);
    await provision({ url, seedFile, caFile });
    return 0;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    return 1;
  }
}

async function provision(server: Pick<ConnectNatsOptions, 'url' | 'seedFile' | 'caFile'>): Promise<void> {
  const holder = { role: 'operator', credential: 'operator' } as const;
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const connection = await connectNats({ ...server, ...holder, logger: createLogger('provision-nats'), signal });
  try {
    await provisionJetStream(connection);
  } finally {
    await connection.close();
  }
}
