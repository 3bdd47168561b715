// Begun in place of vitest's own worker of forks, whose path it is given: says of each file whether it left the process as it was.
import { leftovers } from './leftovers.ts';

/** From the pool: a file begins, and finds this in its environment. */
export interface Begin {
  readonly fairlead: 'begin';
  readonly env: Readonly<Record<string, string>>;
}

/** From the pool: the file has ended. Answered by `Rested`. */
export interface Rest {
  readonly fairlead: 'rest';
}

/** To the pool: the process may take another file if nothing is left. */
export interface Rested {
  readonly fairlead: 'rested';
  readonly left: readonly string[];
}

/** What a file closed at its end may take this long to be gone. */
const SETTLE_MS = 300;
const LOOK_MS = 20;
/** Each file evaluates our own modules anew, and what they made may stay. */
const MOST_MEMORY_BYTES = 512 * 1024 * 1024;

const environment = { ...process.env };
const folder = process.cwd();

process.on('message', (message: Begin | Rest) => {
  if (message.fairlead === 'begin') begin(message.env);
  else if (message.fairlead === 'rest') void rest();
});
await import(process.argv[2]!);

function begin(env: Readonly<Record<string, string>>): void {
  const wanted: NodeJS.ProcessEnv = { ...environment, ...env };
  for (const name of Object.keys(process.env)) if (!(name in wanted)) delete process.env[name];
  Object.assign(process.env, wanted);
}

async function rest(): Promise<void> {
  const end = performance.now() + SETTLE_MS;
  let left = look();
  // A handle that was closed is gone some turns of the event loop later, and nothing tells of it.
  while (left.length > 0 && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    left = look();
  }
  process.send!({ fairlead: 'rested', left } satisfies Rested);
}

function look(): string[] {
  const left = leftovers(process.getActiveResourcesInfo(), (event) => process.listenerCount(event));
  if (process.cwd() !== folder) left.push('working directory');
  if (process.memoryUsage.rss() > MOST_MEMORY_BYTES) left.push('memory');
  return left;
}
