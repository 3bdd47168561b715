import { needlesOf, needlesOfKey } from './needles.js';

const TOKEN = /fl1\.[0-9a-f]{64}\.([A-Za-z0-9-]{1,64})\.([A-Za-z0-9_-]{43})/g;
const TOKEN_IN_SECRET = /^\s*token: ([A-Za-z0-9+/]{100,}={0,2})\s*$/gm;
const API_TOKEN = /fairlead_([A-Za-z0-9_-]{43})/g;
const IMPORT_LINK = /\/import\/([A-Za-z0-9_-]{32,})/g;

/** Every secret that is known to have been issued, by what it is called in a report. */
export class SecretRegistry {
  /** From a needle to a name. */
  readonly names = new Map<string, string>();
  readonly #known = new Set<string>();

  get count(): number {
    return this.#known.size;
  }

  /** `name` is shown when it is found. Throws RangeError for a secret of less than 20 characters. */
  add(name: string, secret: string): void {
    this.#take(name, secret, needlesOf);
  }

  /** A private key in PEM. */
  addKey(name: string, pem: string): void {
    this.#take(name, pem, needlesOfKey);
  }

  /** Bootstrap tokens, import links and API tokens in what somebody was given, as text or in a manifest. Returns their names. */
  addGiven(text: string): Set<string> {
    const names = new Set<string>();
    const decoded = [...text.matchAll(TOKEN_IN_SECRET)].map(([, base64 = '']) =>
      Buffer.from(base64, 'base64').toString(),
    );
    for (const [, id = '', secret = ''] of [text, ...decoded].flatMap((each) => [...each.matchAll(TOKEN)])) {
      names.add(`the bootstrap token ${id}`);
      this.add(`the bootstrap token ${id}`, secret);
    }
    for (const [, code = ''] of text.matchAll(IMPORT_LINK)) {
      const name = `the code of import link ${code.slice(0, 4)}…`;
      names.add(name);
      this.add(name, code);
    }
    for (const [token, start = ''] of text.matchAll(API_TOKEN)) {
      const name = `the API token ${start.slice(0, 4)}…`;
      names.add(name);
      this.add(name, token);
    }
    return names;
  }

  /** The identity of an agent as it is stored, whatever is around it: every key in it. */
  addIdentity(name: string, stored: string): void {
    const plain = stored.replaceAll('\\\\n', '\n').replaceAll('\\n', '\n');
    for (const [pem] of plain.matchAll(/-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END PRIVATE KEY-----/g)) {
      this.addKey(name, `${pem}\n`);
    }
  }

  #take(name: string, secret: string, needles: (secret: string) => string[]): void {
    if (this.#known.has(secret)) return;
    for (const needle of needles(secret)) this.names.set(needle, this.names.get(needle) ?? name);
    this.#known.add(secret);
  }
}
