import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** PEM of a key and of its certificate for `localhost`, signed by itself, on a curve that is not NIST's: Node's own reading ends a process at it. */
export async function brainpoolCertificate(): Promise<string> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:brainpoolP256r1', '-nodes', '-keyout', '-'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const { stdout } = await promisify(execFile)('openssl', ['req', '-x509', ...key, ...names]);
  return stdout;
}
