#!/usr/bin/env node
import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { readConfig } from './config.js';
import { refuseOldNode } from './node-version.js';
import { run } from './run.js';

// Whoever reads the output may stop reading: `fairlead cluster list | head -1` is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});

const refusal = refuseOldNode(process.versions.node);
if (refusal !== undefined) {
  process.stderr.write(refusal);
  process.exit(1);
}

void main();

async function main(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    config: readConfig(process.env),
    self: {
      program: process.execPath,
      // In a single file (tools/image/command.mjs) the program is the command.
      args: isSea() ? [] : [process.argv[1] ?? fileURLToPath(import.meta.url)],
    },
    parentPid: process.ppid,
    now: () => new Date(),
    // Loaded only then: most commands open none.
    openBrowser: async (url) => (await import('./login/open-browser.js')).openBrowser(url),
  });
}
