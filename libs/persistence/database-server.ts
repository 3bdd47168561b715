import { FairleadError, messageOf } from '@fairlead/errors';
import { explainTlsFailure, readCaFile, requireLoopback, type ServerTrust } from '@fairlead/pki';

/** Where Postgres is, and how it is known to be the right one. */
export interface DatabaseServer extends ServerTrust {
  /** `postgres://role:password@host:port/database`; read it from a file, never from an argument. */
  readonly url: string;
}

interface DatabaseConnection {
  /** Without anything that the driver would take for settings of TLS or for another address. */
  readonly url: string;
  /** For the driver; false: plain text. Never undefined, or the driver would look at PGSSLMODE. */
  readonly ssl: Verified | false;
}

interface Verified {
  readonly rejectUnauthorized: true;
  readonly minVersion: 'TLSv1.3';
  /** Absent: the system's. */
  readonly ca?: string;
}

/** Of the URL's query, what the driver puts above the settings that it is given. */
const ABOVE_SETTINGS = ['ssl', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'];
const OTHER_ADDRESS = ['host', 'hostaddr', 'port'];

/**
 * How to connect: with a CA file, or with `sslmode=verify-full` in the URL (the system's CAs then), by TLS 1.3 to a server
 * whose certificate is for the URL's host. Throws INVALID_ARGUMENT for anything weaker in the URL, for a CA file that cannot
 * be read, and for plain text to another machine that nobody asked for; the message never repeats the URL.
 */
export function databaseConnection({ url, caFile, insecurePlaintext }: DatabaseServer): DatabaseConnection {
  const target = readUrl(url);
  const mode = target.searchParams.get('sslmode');
  if (mode !== null && mode !== 'verify-full' && (mode !== 'disable' || caFile !== undefined)) {
    throw invalid(`sslmode=${mode} would not check who answers: leave it out and set a CA file, or say verify-full`);
  }
  target.searchParams.delete('sslmode');
  if (caFile === undefined && mode !== 'verify-full') {
    requireLoopback(target.hostname, insecurePlaintext, 'FAIRLEAD_DATABASE_CA_FILE');
    return { url: target.href, ssl: false };
  }
  const verified = { rejectUnauthorized: true, minVersion: 'TLSv1.3' } as const;
  return { url: target.href, ssl: caFile === undefined ? verified : withCaOf(caFile, verified) };
}

/** Why the database could not be connected to, for whoever has to put it right. */
export function explainDatabaseFailure(error: unknown): string {
  const why = explainTlsFailure(error, 'the CA that is trusted for it');
  return why === undefined ? messageOf(error) : `the server is not trusted: ${why} (${messageOf(error)})`;
}

function readUrl(url: string): URL {
  const target = URL.parse(url);
  if (!target || !/^postgres(ql)?:$/.test(target.protocol) || target.hostname === '') {
    throw invalid('it is not of the form postgres://role:password@host:port/database');
  }
  for (const name of [...ABOVE_SETTINGS, ...OTHER_ADDRESS]) {
    if (target.searchParams.has(name)) throw invalid(`it may not set ${name}`);
  }
  return target;
}

/** The driver asks for it at each connection, so that a renewed file counts without a restart. */
function withCaOf(caFile: string, verified: Verified): Verified {
  let latest = readCaFile(caFile);
  return {
    ...verified,
    get ca() {
      try {
        latest = readCaFile(caFile);
      } catch {
        // Being replaced just now, perhaps. What was trusted before goes on being trusted; thrown here, it would end the process.
      }
      return latest;
    },
  };
}

function invalid(why: string): FairleadError {
  return new FairleadError('INVALID_ARGUMENT', `the database URL is refused: ${why}`);
}
