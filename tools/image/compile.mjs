import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_FLAGS } from '../stack/dist/process/node-flags.js';

/** How the bundle of an app is started for that, and the exit code then: without its configuration, if not said otherwise. */
const STARTS = { cli: { args: ['--help'], flags: [], status: 0 } };

/**
 * Lets a bundle start once, as far as its missing configuration, so that Node keeps beside it what V8 compiled for that. It
 * is good for the same Node, flags and user; anything else is compiled as ever. `user` is whom it is for, if not for us: it
 * may read it then, and nobody but us may write it.
 */
export function compile(app, bundle, user) {
  const kept = join(bundle, 'compiled');
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept);
  if (user) chownSync(kept, user.uid, user.gid);
  const { args, flags, status: expected } = STARTS[app] ?? { args: [], flags: NODE_FLAGS, status: 2 };
  const { status, stderr } = spawnSync(process.execPath, [...flags, join(bundle, 'main.js'), ...args], {
    ...user,
    cwd: '/',
    env: {},
    encoding: 'utf8',
  });
  if (status !== expected) throw new Error(`the bundle of apps/${app} does not start:\n${stderr}`);
  if (readdirSync(kept).length === 0) throw new Error(`Node kept nothing of the bundle of apps/${app}`);
  if (user) giveBack(kept);
}

function giveBack(kept) {
  const { uid, gid } = { uid: process.getuid(), gid: process.getgid() };
  const entries = readdirSync(kept, { recursive: true, withFileTypes: true });
  for (const [path, mode] of [
    [kept, 0o755],
    ...entries.map((at) => [join(at.parentPath, at.name), at.isFile() ? 0o644 : 0o755]),
  ]) {
    chownSync(path, uid, gid);
    chmodSync(path, mode);
  }
}
