import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';

const TIMEOUT_MS = 5_000;
const Sessions = z.object({ sessions: z.array(z.unknown()) }).nullable();

/** Links of agents that a gateway holds now. Rejects while it does not answer. */
export async function linksAt(healthUrl: string): Promise<number> {
  const answer = await fetch(`${healthUrl}/debug/sessions`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  return Sessions.parse(await answer.json())?.sessions.length ?? 0;
}

/** Sum of a metric's samples whose labels include `label`; 0 before it was first counted. Throws BenchError if there is no such metric. */
export async function metricAt(healthUrl: string, metric: string, label = ''): Promise<number> {
  const answer = await fetch(`${healthUrl}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const lines = (await answer.text()).split('\n');
  if (!lines.some((line) => line.startsWith(`# TYPE ${metric.replace(/_count$/, '')} `))) {
    throw new BenchError(`there is no metric ${metric}`);
  }
  const samples = lines.filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `));
  const values = samples.filter((line) => line.includes(label)).map((line) => Number(line.split(' ').at(-1)));
  return values.reduce((sum, value) => sum + value, 0);
}
