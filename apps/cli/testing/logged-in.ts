import { writeFile } from 'node:fs/promises';
import { startScriptedApi, type ScriptedApi } from '@fairlead/api/testing';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { cliRunner, type RunCli } from './cli-runner.js';

/** An API, and somebody who has a home. */
export interface CliScene {
  readonly api: ScriptedApi;
  /** Of the test that runs. */
  readonly scratch: ScratchDir;
  /** Where its login is kept. */
  readonly home: string;
  /** The root of the API's certificate. */
  readonly caFile: string;
  readonly fairlead: RunCli;
}

/** For a file of tests: one API for all of them, and for each test somebody new. */
export function cliScene(): CliScene {
  let api: ScriptedApi;
  let scratch: ScratchDir;
  beforeAll(async () => {
    api = await startScriptedApi();
  });
  afterAll(async () => {
    await api?.[Symbol.asyncDispose]();
  });
  beforeEach(async (context) => {
    scratch = await scratchDir();
    context.onTestFinished(() => scratch[Symbol.asyncDispose]());
    await writeFile(scratch.file('root.pem'), api.caPem);
  });
  return {
    get api() {
      return api;
    },
    get scratch() {
      return scratch;
    },
    get home() {
      return scratch.file('home');
    },
    get caFile() {
      return scratch.file('root.pem');
    },
    fairlead: (args, options) => cliRunner(scratch.file('home'), scratch.path)(args, options),
  };
}

/** The same, with somebody who is logged in, and nothing of what other tests made of clusters and Git. */
export function loggedIn(): CliScene {
  const scene = cliScene();
  beforeEach(async () => {
    const { api, caFile, fairlead } = scene;
    forgetAll(api);
    await fairlead(['login', '--server', api.url, '--ca-file', caFile], { stdin: api.script.token });
  });
  return scene;
}

function forgetAll({ script }: ScriptedApi): void {
  for (const known of [script.clusters, script.gitHosts, script.repositories, script.bundles]) known.clear();
  for (const known of [script.assignments, script.rollouts, script.statuses]) known.clear();
  for (const list of [script.deployKeys, script.removals, script.rotations]) list.length = 0;
  script.alsoReplaced = [];
  script.assignmentFailure = undefined;
  script.meanwhile = () => undefined;
}
