// `npm start`: compiles what changed, saying so, and hands over to the dev app in this very terminal.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const tsc = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc');

function run(...args) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' });
  // Ctrl-C reaches the whole group; the child decides when it is done.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const watching = endWithParent(child);
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      clearInterval(watching);
      resolve(signal ? 1 : code);
    });
  });
}

/** npm that is told to end does so, and tells nobody: whoever is left behind has another parent then. */
function endWithParent(child) {
  const parent = process.ppid;
  return setInterval(() => {
    if (process.ppid !== parent) child.kill('SIGTERM');
  }, 1_000);
}

if (!existsSync(tsc)) {
  console.error('the packages are not installed: run npm ci first');
  process.exitCode = 1;
} else {
  const first = !existsSync(join(root, 'apps/dev/dist/main.js'));
  console.log(first ? '- compiling (the first time takes half a minute)' : '- compiling what changed');
  const failed = await run(tsc, '-b', '--checkers', '1');
  process.exitCode = failed || (await run(join(root, 'apps/dev/dist/main.js'), ...process.argv.slice(2)));
}
