import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { ScratchDir } from '@fairlead/testing';
import { load, out, pointer } from 'koffi';
import { CKA, CKK_AES, CKO_SECRET_KEY, CKR, Cryptoki, TEMPLATE, toTemplate, ulong } from '../kms/pkcs11/cryptoki.js';

const run = promisify(execFile);
/** Of Debian (amd64 and the rest), of Fedora, of Homebrew. */
const MODULES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
];
const CKA_TOKEN = 0x1;
const CKA_VALUE = 0x11;
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
    // Letters and digits: SoftHSM's tool leaves out some bytes of a binary file.
    await writeFile(file, randomBytes(bytes / 2).toString('hex'), { mode: 0o600 });
    const what = ['--import', file, '--aes', '--label', label, '--id', id.toString(16).padStart(2, '0')];
    await this.#util(...what, '--token', this.label, '--pin', this.pin);
  }

  /** A key that may leave the token, which no tool of SoftHSM makes. In this process, which has to have SOFTHSM2_CONF in its environment. */
  addExtractableKey(label: string): void {
    const cryptoki = new Cryptoki(this.modulePath);
    const slot = cryptoki.tokens().find((token) => token.label === this.label)?.slot;
    if (slot === undefined) throw new Error(`there is no token ${this.label}: is SOFTHSM2_CONF set?`);
    const session = cryptoki.openSession(slot, true);
    cryptoki.login(session, Buffer.from(this.pin));
    const template = [
      { type: CKA.CLASS, value: ulong(CKO_SECRET_KEY) },
      { type: CKA.KEY_TYPE, value: ulong(CKK_AES) },
      { type: CKA.LABEL, value: Buffer.from(label) },
      { type: CKA.EXTRACTABLE, value: Buffer.of(1) },
      { type: CKA_TOKEN, value: Buffer.of(1) },
      { type: CKA_VALUE, value: randomBytes(32) },
    ];
    const create = load(this.modulePath).func('C_CreateObject', 'ulong', [
      'ulong',
      TEMPLATE,
      'ulong',
      out(pointer('ulong')),
    ]);
    const result = Number(create(session, toTemplate(template), template.length, [0]));
    if (result !== CKR.OK) throw new Error(`C_CreateObject answered ${result}`);
  }

  async #util(...args: string[]): Promise<void> {
    const env = { ...process.env, SOFTHSM2_CONF: this.configFile };
    await run('softhsm2-util', args, { env, timeout: 60_000 });
  }
}
