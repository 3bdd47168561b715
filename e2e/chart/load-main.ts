import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/** It asks no faster: what is measured is whether answers come, and there are two cores for all. */
const PAUSE_MS = 100;
const ANSWER_MS = 15_000;
const LONGEST_MS = 1_200_000;

/** Its one argument, as JSON. */
const Load = z.object({
  caFile: z.string(),
  tokenFile: z.string(),
  /** Each is asked by two: over a connection that is kept, and over a new one each time. */
  urls: z.array(z.url()),
});

/** Asks the same again and again until its input ends, and then prints how often, and what came that is no answer. */
async function main(): Promise<void> {
  const { caFile, tokenFile, urls } = Load.parse(JSON.parse(process.argv[2] ?? ''));
  const ca = readFileSync(caFile, 'utf8');
  const headers = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` };
  const over = AbortSignal.any([AbortSignal.timeout(LONGEST_MS), endOfInput()]);
  const failures: string[] = [];
  let asked = 0;
  const askAgain = async (url: string, keepAlive: boolean): Promise<void> => {
    const agent = new Agent({ keepAlive, maxSockets: 1, ca });
    while (!over.aborted) {
      const failure = await failureOf(url, { agent, ca, headers });
      asked += 1;
      if (failure !== null) failures.push(`${new Date().toISOString()} ${url}: ${failure}`);
      await sleep(PAUSE_MS);
    }
    agent.destroy();
  };
  await Promise.all(urls.flatMap((url) => [askAgain(url, true), askAgain(url, false)]));
  console.log(JSON.stringify({ asked, failures }));
}

function endOfInput(): AbortSignal {
  const over = new AbortController();
  process.stdin.on('end', () => over.abort()).resume();
  return over.signal;
}

interface How {
  readonly agent: Agent;
  readonly ca: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Null: it was answered. As every client does, it asks again where a connection that it had kept was closed before an answer began (RFC 9110, 9.2.2). */
async function failureOf(url: string, { agent, ca, headers }: How): Promise<string | null> {
  const kept = await ask(url, { agent, headers });
  return kept === 'closed meanwhile' ? ask(url, { agent: new Agent({ ca }), headers }) : kept;
}

function ask(url: string, options: Omit<How, 'ca'>): Promise<string | null> {
  return new Promise((tell) => {
    const asking = request(url, { ...options, signal: AbortSignal.timeout(ANSWER_MS) });
    asking.once('error', (error: NodeJS.ErrnoException) => {
      tell(asking.reusedSocket && error.code === 'ECONNRESET' ? 'closed meanwhile' : String(error));
    });
    asking.once('response', (answer) => {
      const of = (body: string): string | null => (answer.statusCode === 200 ? null : `${answer.statusCode} ${body}`);
      text(answer).then(
        (body) => tell(of(body)),
        (error: unknown) => tell(`it broke off: ${String(error)}`),
      );
    });
    asking.end();
  });
}

await main();
