import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { scratchStateDir } from './test-stack.js';

const ROOT = join(import.meta.dirname, '../..');

let tree: string | undefined;

/**
 * What the Dockerfile copies into the agent's image, read-only, made by the same script: an image builder is not at hand everywhere.
 * To be called at the top of a test file, before `shareStack`, as the files go after the stack that runs them; what it returns makes
 * them and resolves with the agent's entry file.
 */
export function agentOfImage(): () => Promise<string> {
  afterAll(async () => {
    if (tree === undefined) return;
    execFileSync('chmod', ['-R', 'u+w', tree]);
    await rm(tree, { recursive: true, force: true });
  });
  return async () => {
    // It runs once as the image's user, who has to pass through.
    tree = await scratchStateDir();
    execFileSync(process.execPath, ['tools/image/assemble.mjs', 'agent', tree], { cwd: ROOT });
    execFileSync('chmod', ['-R', 'a-w,a+rX', tree]);
    return join(tree, 'apps/agent/dist/bundle/main.js');
  };
}

/** Where they are. */
export function agentImageTree(): string {
  if (tree === undefined) throw new Error('nothing was made here: call agentOfImage at the top of the test file');
  return tree;
}
