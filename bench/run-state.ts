import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from './config.js';
import { State } from './state.js';

/** Compiled only: the benchmark runs from `dist`. */
const BENCH = new URL('../', import.meta.url);
/** Change whenever what they are of is compiled anew. */
const BUILDS = [
  'bench',
  'libs/tunnel',
  'libs/gateway',
  'libs/agent',
  'libs/kube-http',
  'apps/gateway',
  'apps/agent',
].map((each) => new URL(`../${each}/dist/.tsbuildinfo`, BENCH));

/** What an equal run that was cut off has left: the same rows, systems and runs, of the same code. */
export async function openRunState(config: Config): Promise<State> {
  const { area, rows, systems, runs, quick, fresh } = config;
  const hash = createHash('sha256').update(JSON.stringify({ area, rows, systems, runs, quick }));
  for (const file of BUILDS) hash.update(await readFile(file));
  const key = hash.digest('hex');
  // A name of its own: another run at the same time is no business of this one.
  const file = fileURLToPath(new URL(`bin/run-${key.slice(0, 12)}.json`, BENCH));
  const state = await State.open(file, key, Date.now());
  if (!fresh || state.steps === 0) return state;
  await state.forget();
  return openRunState({ ...config, fresh: false });
}
