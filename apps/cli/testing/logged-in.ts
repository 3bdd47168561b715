import { writeFile } from 'node:fs/promises';
import { startScriptedApi, type ScriptedApi } from '@fairlead/api/testing';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { cliRunner, type RunCli } from './cli-runner.js';

/** An API, and somebody who is logged in to it. */
export interface LoggedIn {
  readonly api: ScriptedApi;
  /** Of the test that runs. */
  readonly scratch: ScratchDir;
  readonly fairlead: RunCli;
}

/** For a file of tests: one API for all of them, and for each test somebody new, and nothing of what others made of clusters and Git. */
export function loggedIn(): LoggedIn {
  let api: ScriptedApi;
  let scratch: ScratchDir;
  let runner: RunCli;
  beforeAll(async () => {
    api = await startScriptedApi();
  });
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
  });
  beforeEach(async (context) => {
    scratch = await scratchDir();
    context.onTestFinished(() => scratch[Symbol.asyncDispose]());
    forgetAll(api);
    runner = cliRunner(scratch.file('home'), scratch.path);
    const ca = scratch.file('root.pem');
    await writeFile(ca, api.caPem);
    await runner(['login', '--server', api.url, '--ca-file', ca], { stdin: api.script.token });
  });
  return {
    get api() {
      return api;
    },
    get scratch() {
      return scratch;
    },
    fairlead: (args, options) => runner(args, options),
  };
}

function forgetAll({ script }: ScriptedApi): void {
  for (const known of [script.clusters, script.gitHosts, script.repositories, script.bundles]) known.clear();
  for (const known of [script.assignments, script.rollouts, script.statuses]) known.clear();
  for (const list of [script.deployKeys, script.removals, script.rotations]) list.length = 0;
  script.alsoReplaced = [];
  script.assignmentFailure = undefined;
  script.meanwhile = () => undefined;
}
