import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@fairlead/testing';

/** Where Node's inspector listens when a process is asked for it with SIGUSR1. */
const INSPECTOR = 'http://127.0.0.1:9229/json';
const ANSWER_MS = 10_000;
const END_AFTER_MS = 1_000;

interface Answer {
  readonly id: number;
  readonly result: { readonly result?: { readonly value?: unknown } };
}

/**
 * What the heap of a Node process holds once the collector went over all of it, in bytes: what is left behind shows here at once, where
 * the memory of the process still holds garbage. One process at a time, as there is one such port on a machine.
 */
export async function liveHeapOf(pid: number): Promise<number> {
  process.kill(pid, 'SIGUSR1');
  const url = await eventually(async () => {
    const targets = (await (await fetch(INSPECTOR)).json()) as { readonly webSocketDebuggerUrl: string }[];
    return targets[0]?.webSocketDebuggerUrl ?? '';
  });
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`the inspector of ${pid} does not answer`)));
  });
  const answers = new Map<number, Answer>();
  socket.addEventListener('message', ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer;
    answers.set(answer.id, answer);
  });
  let asked = 0;
  const ask = async (method: string, params: object = {}): Promise<Answer> => {
    asked += 1;
    const id = asked;
    socket.send(JSON.stringify({ id, method, params }));
    return eventually(() => answers.get(id) ?? Promise.reject(new Error(`no answer to ${method}`)), {
      timeoutMs: ANSWER_MS,
    });
  };
  const evaluate = async (expression: string): Promise<unknown> =>
    (await ask('Runtime.evaluate', { expression })).result.result?.value;
  if ((await evaluate('process.pid')) !== pid) throw new Error('the port of the inspector is somebody else’s');
  await ask('HeapProfiler.collectGarbage');
  const bytes = Number(await evaluate('process.memoryUsage().heapUsed'));
  // So that the next process may have the port. Node can die of SIGSEGV where its inspector ends while a session still closes:
  // 3 of 110 times 50 ms after it, none of 320 a second after it.
  await evaluate(`void setTimeout(() => process._debugEnd(), ${END_AFTER_MS})`);
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  await delay(END_AFTER_MS + 200);
  return bytes;
}
