import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ScratchDir } from '@fairlead/testing';

const run = promisify(execFile);
/** Of Debian (amd64 and the rest), of Fedora, of Homebrew. */
const MODULES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
];
const SO_PIN = '5678-so';

/** A real PKCS #11 token of SoftHSM, in a folder of the test. */
export class SoftToken {
  readonly label = 'fairlead test';
  readonly pin = randomBytes(8).toString('hex');
  readonly tokensDir: string;
  readonly pinFile: string;
  /** SoftHSM's configuration. */
  readonly configFile: string;
  readonly #scratch: ScratchDir;

  private constructor(scratch: ScratchDir) {
    this.#scratch = scratch;
    this.tokensDir = scratch.file('tokens');
    this.pinFile = scratch.file('pin');
    this.configFile = scratch.file('softhsm2.conf');
  }

  /** With a key for each label. Throws where there is no SoftHSM: it is Debian's package softhsm2. */
  static async create(scratch: ScratchDir, ...keyLabels: readonly string[]): Promise<SoftToken> {
    const token = new SoftToken(scratch);
    await mkdir(token.tokensDir);
    await writeFile(token.configFile, `directories.tokendir = ${token.tokensDir}\nobjectstore.backend = file\n`);
    await writeFile(token.pinFile, `${token.pin}\n`, { mode: 0o600 });
    await token.#util('--init-token', '--free', '--label', token.label, '--pin', token.pin, '--so-pin', SO_PIN);
    for (const [at, label] of keyLabels.entries()) await token.addKey(label, at + 1);
    return token;
  }

  /** The library. */
  get modulePath(): string {
    const found = MODULES.find((path) => existsSync(path));
    if (found) return found;
    throw new Error(`SoftHSM is not there: install softhsm2 (looked for ${MODULES.join(', ')})`);
  }

  /** An AES key of so many bytes; SoftHSM imports it as one that cannot be extracted. */
  async addKey(label: string, id: number, bytes = 32): Promise<void> {
    const file = this.#scratch.file('imported.key');
    await writeFile(file, randomBytes(bytes), { mode: 0o600 });
    const what = ['--import', file, '--aes', '--label', label, '--id', id.toString(16).padStart(2, '0')];
    await this.#util(...what, '--token', this.label, '--pin', this.pin);
  }

  async #util(...args: string[]): Promise<void> {
    const env = { ...process.env, SOFTHSM2_CONF: this.configFile };
    await run('softhsm2-util', args, { env, timeout: 60_000 });
  }
}
