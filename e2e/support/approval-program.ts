import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a program makes of a question whose signature is good. */
export type Verdict = (answer: ServerResponse, question: Question) => void;

export interface Question {
  readonly requestId: string;
  readonly cluster: string | null;
  readonly fingerprint: string;
}

/** A program of an operator's that decides about agents, as the runbook tells to write one. */
export interface ApprovalProgram extends AsyncDisposable {
  readonly url: string;
  /** What it does from now on. */
  verdict: Verdict;
  /** The secret that it compares signatures with. */
  secret: string;
  /** The last question, as it came. */
  readonly last: { readonly signature: string; readonly body: string };
  /** Questions so far, those with a wrong signature too. */
  readonly asked: number;
}

const MAX_AGE_SECONDS = 300;

export async function startApprovalProgram(secret: string): Promise<ApprovalProgram> {
  let asked = 0;
  let last = { signature: '', body: '' };
  const server = createServer((request, answer) => {
    asked += 1;
    void text(request).then((body) => {
      last = { signature: String(request.headers['fairlead-signature']), body };
      if (isGenuine(program.secret, last.signature, body)) {
        program.verdict(answer, JSON.parse(body) as Question);
      } else answer.writeHead(401).end();
      return undefined;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const program: ApprovalProgram = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`,
    verdict: (answer) => void answer.writeHead(500).end(),
    secret,
    get last() {
      return last;
    },
    get asked() {
      return asked;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
  return program;
}

/** docs/runbooks/adopt-clusters.md: compared in constant time, and nothing old. */
export function isGenuine(secret: string, signature: string, body: string, nowMs: number = Date.now()): boolean {
  const [, seconds = '', shown = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  const own = createHmac('sha256', secret).update(`${seconds}.${body}`).digest();
  const other = Buffer.from(shown, 'hex');
  const young = Math.abs(nowMs / 1_000 - Number(seconds)) < MAX_AGE_SECONDS;
  return other.length === own.length && timingSafeEqual(own, other) && young;
}
