import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleAsOneFile } from './bundle-app.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const POSTJECT = join(ROOT, 'node_modules/postject/dist/cli.js');
/** https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html: the same for every Node. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
export const HERE = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
/** What npm has our Node for. macOS is not among them: there, one builds on a Mac, with the Node of `npm ci`. */
export const FROM_NPM = ['linux-x64', 'linux-arm64', 'win-x64'];

/**
 * Makes the `fairlead` command as one file for each of some platforms (`linux-x64`), which needs no Node beside it: our bundle put into
 * Node's own program. Returns their names in `out`, and of the file with the licences of what is in them.
 */
export async function commandFiles(out, platforms) {
  const dir = mkdtempSync(join(tmpdir(), 'fairlead-command-'));
  try {
    mkdirSync(out, { recursive: true });
    const licences = await bundleAsOneFile('cli', join(dir, 'fairlead.cjs'));
    writeFileSync(join(out, 'LICENSES.txt'), licences);
    const files = platforms.map((platform) => {
      const name = `fairlead-${platform}${platform.startsWith('win') ? '.exe' : ''}`;
      putTogether(dir, platform, nodeFor(dir, platform), join(out, name));
      return name;
    });
    return [...files, 'LICENSES.txt'];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The very version that builds: what it prepares is read by no other. npm compares it with the digest that the registry names. */
function nodeFor(dir, platform) {
  if (platform === HERE) return process.execPath;
  const version = process.version.slice(1);
  const packed = JSON.parse(run(dir, 'npm', ['pack', '--json', `node-${platform}@${version}`]));
  const into = join(dir, platform);
  mkdirSync(into);
  run(dir, 'tar', ['-xzf', packed[0].filename, '-C', into, '--strip-components=1']);
  return join(into, 'bin', platform.startsWith('win') ? 'node.exe' : 'node');
}

function putTogether(dir, platform, node, file) {
  const config = {
    main: 'fairlead.cjs',
    output: `${platform}.blob`,
    assets: { 'package.json': join(ROOT, 'apps/cli/package.json') },
    disableExperimentalSEAWarning: true,
    // Compiled code is good for this machine's Node only. It saves 30 ms of each start.
    useCodeCache: platform === HERE,
    // NODE_OPTIONS is for programs of Node's; whoever has this file need not know that it is one.
    execArgvExtension: 'none',
  };
  writeFileSync(join(dir, 'sea.json'), JSON.stringify(config));
  run(dir, process.execPath, ['--experimental-sea-config', 'sea.json']);
  copyFileSync(node, file);
  chmodSync(file, 0o755);
  const mac = platform.startsWith('darwin');
  if (mac) run(dir, 'codesign', ['--remove-signature', file]);
  const segment = mac ? ['--macho-segment-name', 'NODE_SEA'] : [];
  const inject = [POSTJECT, file, 'NODE_SEA_BLOB', config.output, '--sentinel-fuse', FUSE, ...segment];
  run(dir, process.execPath, inject);
  // Without a signature, of nobody if need be, a Mac ends it at once.
  if (mac) run(dir, 'codesign', ['--sign', '-', file]);
  if (!readFileSync(file).includes(`${FUSE}:1`)) fail(`${file}: Node would not see what was put into it`);
}

/** What it says is shown only if it fails: the injector warns of what does no harm. */
function run(cwd, program, args) {
  const { status, error, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 600_000 });
  if (status !== 0) fail(`${program} ${args.join(' ')} failed:\n${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}

function fail(message) {
  throw new Error(message);
}
