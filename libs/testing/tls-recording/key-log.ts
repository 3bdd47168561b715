/** What both ends of one TLS 1.3 connection derive their keys from (RFC 8446, section 7.1). */
export interface ConnectionSecrets {
  readonly clientHandshake: Buffer;
  readonly serverHandshake: Buffer;
  readonly clientTraffic: Buffer;
  readonly serverTraffic: Buffer;
}

/** By the random value of the ClientHello, in hex. */
export type KeyLog = ReadonlyMap<string, Partial<ConnectionSecrets>>;

const LABELS: Readonly<Record<string, keyof ConnectionSecrets>> = {
  CLIENT_HANDSHAKE_TRAFFIC_SECRET: 'clientHandshake',
  SERVER_HANDSHAKE_TRAFFIC_SECRET: 'serverHandshake',
  CLIENT_TRAFFIC_SECRET_0: 'clientTraffic',
  SERVER_TRAFFIC_SECRET_0: 'serverTraffic',
};

/** Reads a file as `node --tls-keylog=FILE` writes it (the SSLKEYLOGFILE format): `<label> <client random> <secret>`, in hex. */
export function readKeyLog(text: string): KeyLog {
  const found = new Map<string, { -readonly [Name in keyof ConnectionSecrets]?: Buffer }>();
  for (const [, label = '', random = '', secret = ''] of text.matchAll(
    /^([A-Z_0-9]+) ([0-9a-f]{64}) ([0-9a-f]+)\n/gm,
  )) {
    const name = LABELS[label];
    if (name === undefined) continue;
    const secrets = found.get(random) ?? {};
    secrets[name] = Buffer.from(secret, 'hex');
    found.set(random, secrets);
  }
  return found;
}
