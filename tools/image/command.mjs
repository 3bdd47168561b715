// Makes the fairlead command as single files, which need no Node beside them, their digests and, with a key, the signature of these.
//
//   npm run build && node tools/image/command.mjs --out release --for linux-x64 --for linux-arm64 --for win-x64 --sign-with key.pem
//   node tools/image/command.mjs --out release --for darwin-arm64        # on a Mac with that processor
//
// The signature is what `cosign verify-blob --key key.pub --signature SHA256SUMS.sig --insecure-ignore-tlog SHA256SUMS` takes, and
// openssl too: ECDSA P-256 over SHA-256, DER, base64. Nothing is sent anywhere but for the Node of other platforms, which npm fetches.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sha256, signatureOf, signingKey } from './sign.mjs';
import { FROM_NPM, HERE, commandFiles } from './single-file.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    for: { type: 'string', multiple: true, default: [HERE] },
    'sign-with': { type: 'string' },
  },
});
const foreign = values.for.find((platform) => platform !== HERE && !FROM_NPM.includes(platform));
if (values.out === undefined) end('where to? --out FOLDER');
if (foreign !== undefined)
  end(`for ${foreign} this has to run there; from here it makes ${[HERE, ...FROM_NPM].join(', ')}`);
const key = values['sign-with'] === undefined ? undefined : keyIn(values['sign-with']);

const out = resolve(values.out);
const names = await commandFiles(out, [...new Set(values.for)]);
const sums = names.map((name) => `${sha256(readFileSync(join(out, name)))}  ${name}\n`).join('');
writeFileSync(join(out, 'SHA256SUMS'), sums);
if (key) writeFileSync(join(out, 'SHA256SUMS.sig'), signatureOf(Buffer.from(sums), key));
process.stdout.write(sums);

function keyIn(file) {
  try {
    return signingKey(file);
  } catch (error) {
    return end(error.message);
  }
}

function end(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(2);
}
