import type { IncomingMessage } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import { readFile } from 'node:fs/promises';
import type { Stack } from '@fairlead/stack';
import { secretScan } from './secret-scan/index.js';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Of events that have no end: those that there are by now. */
async function heardByNow(answer: IncomingMessage): Promise<string> {
  let heard = '';
  for await (const piece of answer.setEncoding('utf8')) {
    heard += String(piece);
    if (/^: at \d+$/m.test(heard)) break;
  }
  return heard;
}

/** One HTTPS request that trusts only the installation's own serving root. */
export async function https(stack: Stack, url: string, options: RequestOptions = {}, sent?: string): Promise<Answer> {
  const ca = await readFile(stack.api.caFile, 'utf8');
  const answered = await new Promise<Answer>((resolve, reject) => {
    const asking = request(url, { ca, agent: false, signal: AbortSignal.timeout(15_000), ...options });
    asking.once('error', reject);
    asking.once('response', (answer) => {
      const type = answer.headers['content-type'] ?? '';
      (type.startsWith('text/event-stream') ? heardByNow(answer) : text(answer)).then(
        (body) => resolve({ status: answer.statusCode ?? 0, type, body }),
        reject,
      );
    });
    asking.end(sent);
  });
  // Import links and manifests are given to whoever asks for them.
  secretScan.hear(`an answer of ${new URL(url).host}`, answered.body, { gives: answered.status < 300 });
  return answered;
}
