// Builds the images of a release, or takes those that `docker save` made, and writes for each what is to be pushed and what proves it. Nothing is
// pushed from here (docs/images.md).
//
//   node tools/image/release.mjs --name registry.example.com/fairlead --version 0.1.0 --out release --sign-with key.pem \
//     --node-image node:24-bookworm-slim@sha256:…
//   node tools/image/release.mjs … --image agent --image installer      # some of them
//   node tools/image/release.mjs … --saved FOLDER                       # FOLDER/agent.tar and so on, of `docker save`
//
// Of each image: <image>/ (an OCI image layout), <image>.cdx.json (what is in it), <image>.payload.json and <image>.sig (what `cosign attach
// signature` takes). For all: images.yaml, values of the chart, and SHA256SUMS with its signature.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writeLayout } from './oci-layout.mjs';
import { imageStatement, sha256, signatureOf, signingKey } from './sign.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const IMAGES = ['access', 'agent', 'api', 'audit', 'gateway', 'gitops', 'installer', 'keys', 'registration', 'setup'];
/** As a registry takes them. */
const NAME = /^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/;
/** The base image: what was tried is what is built upon. */
const PINNED = /^[a-z0-9./:_-]+@sha256:[0-9a-f]{64}$/;
const TAG = /^\w[\w.-]{0,127}$/;

const { values } = parseArgs({
  options: {
    name: { type: 'string' },
    version: { type: 'string' },
    out: { type: 'string' },
    image: { type: 'string', multiple: true, default: IMAGES },
    saved: { type: 'string' },
    'node-image': { type: 'string' },
    'sign-with': { type: 'string' },
  },
});
const problem = whatIsWrong(values);
if (problem) end(problem);
try {
  release(values);
} catch (error) {
  end(error.message);
}

function whatIsWrong({ name, version, out, image, saved, 'sign-with': key, 'node-image': node }) {
  if (!NAME.test(name ?? '')) return 'under which name? --name registry.example.com/fairlead';
  if (!TAG.test(version ?? '')) return 'which version? --version 0.1.0';
  if (out === undefined) return 'where to? --out FOLDER';
  if (existsSync(out)) return `${out} is there already: a release is written whole, into a new folder`;
  if (key === undefined) return 'signed with what? --sign-with KEY, of ECDSA P-256, PEM';
  if (saved === undefined && !PINNED.test(node ?? ''))
    return 'upon which base? --node-image NAME@sha256:…: what a tag names may be another tomorrow';
  const foreign = image.find((each) => !IMAGES.includes(each));
  return foreign === undefined ? undefined : `there is no image ${foreign}; there are ${IMAGES.join(', ')}`;
}

function release({ name, version, image, saved, ...options }) {
  const key = signingKey(options['sign-with']);
  const out = resolve(options.out);
  mkdirSync(out, { recursive: true });
  const lines = [];
  const digests = {};
  for (const each of new Set(image)) {
    const reference = `${name}/${each}`;
    const { digest, bytes, files } = one(out, { each, reference, version, saved, node: options['node-image'], key });
    digests[each] = `${reference}@${digest}`;
    for (const file of files) lines.push(`${sha256(readFileSync(join(out, file)))}  ${file}\n`);
    process.stdout.write(`${reference}:${version} ${digest} ${(bytes / 1e6).toFixed(1)} MB compressed\n`);
  }
  const wanted = Object.entries(digests).map(([each, reference]) => `  ${each}: ${reference}\n`);
  const yaml = `# ${version}: values of charts/fairlead\nimages:\n${wanted.join('')}`;
  writeFileSync(join(out, 'images.yaml'), yaml);
  const sums = Buffer.from([...lines, `${sha256(yaml)}  images.yaml\n`].join(''));
  writeFileSync(join(out, 'SHA256SUMS'), sums);
  writeFileSync(join(out, 'SHA256SUMS.sig'), signatureOf(sums, key));
}

/** Everything of one image. */
function one(out, { each, reference, version, saved, node, key }) {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-release-'));
  try {
    const tag = `${reference}:${version}`;
    if (!saved) build(each, tag, version, node);
    const tar = saved ? join(saved, `${each}.tar`) : join(dir, 'image.tar');
    if (!saved) docker('save', '--output', tar, tag);
    const { digest, bytes, settings } = writeLayout(tar, join(out, each), version);
    assertIs(each, version, settings);
    writeFileSync(join(out, `${each}.cdx.json`), contentsOf(join(out, each), digest, each));
    const statement = imageStatement(reference, digest);
    writeFileSync(join(out, `${each}.payload.json`), statement);
    writeFileSync(join(out, `${each}.sig`), signatureOf(statement, key));
    return { digest, bytes, files: [`${each}.cdx.json`, `${each}.payload.json`, `${each}.sig`] };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function build(image, tag, version, node) {
  const git = (...args) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trim();
  // The label says of which commit it is.
  const changed = git('status', '--porcelain').split('\n')[0];
  if (changed) throw new Error(`what would be built is no commit (${changed}): commit it, or build from a clean clone`);
  const revision = git('rev-parse', 'HEAD');
  const settings = [`VERSION=${version}`, `REVISION=${revision}`, ...(node ? [`NODE_IMAGE=${node}`] : [])];
  const args = settings.flatMap((setting) => ['--build-arg', setting]);
  docker('build', '--target', image, ...args, '--tag', tag, ROOT);
}

/** What was saved elsewhere may be anything. */
function assertIs(image, version, { config }) {
  const labels = config?.Labels ?? {};
  const [title, labelled] = ['title', 'version'].map((name) => labels[`org.opencontainers.image.${name}`]);
  if (title === `fairlead-${image}` && labelled === version) return;
  throw new Error(`the image is labelled ${title} ${labelled}, and not fairlead-${image} ${version}`);
}

/** The SBOM that lies in it, in the layer that holds /app: the last that has it. */
function contentsOf(layout, digest, image) {
  const blob = (of) => join(layout, 'blobs', 'sha256', of.slice('sha256:'.length));
  const { layers } = JSON.parse(readFileSync(blob(digest), 'utf8'));
  const file = `app/apps/${image}/dist/bundle/sbom.cdx.json`;
  for (const layer of layers.toReversed()) {
    const names = execFileSync('tar', ['-tzf', blob(layer.digest)], { encoding: 'utf8', maxBuffer: 2 ** 28 }).split(
      '\n',
    );
    const name = names.find((each) => each.replace(/^\.?\//, '') === file);
    if (name) return execFileSync('tar', ['-xzOf', blob(layer.digest), name], { maxBuffer: 2 ** 26 });
  }
  throw new Error(`the image has no ${file}`);
}

function docker(...args) {
  // What it says of its progress is for whoever waits; what it answers is not.
  execFileSync('docker', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function end(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(2);
}
