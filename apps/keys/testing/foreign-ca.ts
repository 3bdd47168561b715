import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import type { ScratchDir } from '@fairlead/testing';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A CA as somebody's own tools make it, with files in a folder: another curve, another digest, extensions of their own. */
export class ForeignCa {
  readonly #scratch: ScratchDir;

  constructor(scratch: ScratchDir) {
    this.#scratch = scratch;
  }

  async openssl(...args: string[]): Promise<void> {
    await run('openssl', args, { cwd: this.#scratch.path, timeout: 60_000 });
  }

  /** `<name>.pem` and `<name>.key`, without a path length. */
  async makeRoot(name: string, algorithm: readonly string[]): Promise<void> {
    const self = ['-x509', '-sha384', '-days', '3650', '-subj', `/C=DE/O=Example/CN=${name}`];
    const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
    const added = extensions.flatMap((extension) => ['-addext', extension]);
    const files = ['-nodes', '-keyout', `${name}.key`, '-out', `${name}.pem`];
    await this.openssl('req', '-newkey', ...algorithm, ...self, ...added, ...files);
    await chmod(this.#scratch.file(`${name}.key`), 0o600);
  }

  /** `<name>.pem`, `<name>.key` on P-384. */
  async makeIssuing(root: string, name: string): Promise<void> {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-nodes', '-keyout', `${name}.key`];
    await this.openssl('req', ...key, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    await chmod(this.#scratch.file(`${name}.key`), 0o600);
    await this.signIssuing(root, name);
  }

  /** `<name>.pem` for `<name>.csr`. */
  async signIssuing(root: string, name: string): Promise<void> {
    await this.#sign(root, ['-req', '-in', `${name}.csr`, '-days', '700'], `${name}.pem`, [
      'basicConstraints=critical,CA:TRUE,pathlen:0',
      'keyUsage=critical,keyCertSign,cRLSign',
    ]);
  }

  /** `cross.pem`: the key of `<other>.pem`, certified by this root. */
  async crossSign(root: string, other: string): Promise<void> {
    await this.#sign(root, ['-in', `${other}.pem`, '-clrext', '-days', '900'], 'cross.pem', [
      'basicConstraints=critical,CA:TRUE,pathlen:1',
      'keyUsage=critical,keyCertSign',
      'subjectKeyIdentifier=hash',
    ]);
  }

  /** `<name>.p12` of the issuing CA, its key and its root. */
  async pack(root: string, name: string, password: string): Promise<void> {
    const contents = ['-inkey', `${name}.key`, '-in', `${name}.pem`, '-certfile', `${root}.pem`];
    await this.openssl('pkcs12', '-export', ...contents, '-out', `${name}.p12`, '-passout', `pass:${password}`);
    await chmod(this.#scratch.file(`${name}.p12`), 0o600);
  }

  async #sign(root: string, what: readonly string[], out: string, extensions: readonly string[]): Promise<void> {
    await writeFile(this.#scratch.file('extensions'), `${extensions.join('\n')}\n`);
    const by = ['-CA', `${root}.pem`, '-CAkey', `${root}.key`, '-CAcreateserial', '-sha384'];
    await this.openssl('x509', ...what, ...by, '-extfile', 'extensions', '-out', out);
  }
}
