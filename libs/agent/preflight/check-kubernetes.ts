import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { z } from 'zod';
import type { KubeApiTarget } from '../kube-api-proxy.js';
import { found, missed, type Finding } from './finding.js';

/** A right that the agent needs, as SelfSubjectAccessReview names it. */
export interface Right {
  readonly verb: string;
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
}

const TIMEOUT_MS = 10_000;
/** Far more than what is asked for here: a version and a review. */
const MAX_ANSWER_BYTES = 1024 * 1024;
const REVIEW = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** Tokens and certificates stop working beyond some minutes. */
const MAX_SKEW_MS = 60_000;
const Reviewed = z.object({ status: z.object({ allowed: z.boolean() }) });
const APPLY_AGAIN = 'apply the import manifest whole: it brings the rights';

/** Is the API server of this cluster there, does it know the agent, and may the agent do what its work needs? */
export async function* checkKubernetes(
  api: KubeApiTarget,
  rights: readonly Right[],
  nowMs: () => number,
): AsyncGenerator<Finding> {
  const where = `${api.host}:${api.port}`;
  let date: string | undefined;
  try {
    const { status, headers } = await ask(api, 'GET', '/version');
    date = headers['date'];
    if (status !== 200) {
      yield missed(
        'kubernetes',
        where,
        `it answered ${status}`,
        'is the service account token mounted, and of this cluster?',
      );
      return;
    }
    yield found('kubernetes', where, 'it answers, and knows this service account');
  } catch (error) {
    yield missed(
      'kubernetes',
      where,
      error,
      'allow TCP from the agent’s pod to the API server; check ca.crt of the service account',
    );
    return;
  }
  yield checkSkew(where, date, nowMs());
  for (const right of rights) yield await checkRight(api, right);
}

function checkSkew(where: string, date: string | undefined, nowMs: number): Finding {
  const serverMs = Date.parse(date ?? '');
  if (Number.isNaN(serverMs)) return found('clock', where, 'it did not say what time it is');
  const skewMs = Math.abs(nowMs - serverMs);
  if (skewMs <= MAX_SKEW_MS) return found('clock', where, 'agrees with this node’s');
  const detail = `this node’s clock differs from the API server’s by ${Math.round(skewMs / 1_000)} s`;
  return missed('clock', where, detail, 'set the node’s clock by NTP');
}

async function checkRight(api: KubeApiTarget, right: Right): Promise<Finding> {
  const { verb, resource, name, namespace } = right;
  const what = `${verb} ${resource}${name === undefined ? '' : `/${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
  try {
    const spec = { resourceAttributes: { verb, resource, name, namespace } };
    const body = JSON.stringify({ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec });
    const { status, body: answer } = await ask(api, 'POST', REVIEW, body);
    if (status !== 201 && status !== 200) throw new Error(`the API server answered ${status}`);
    if (Reviewed.parse(JSON.parse(answer)).status.allowed) return found('rights', what, 'allowed');
    return missed('rights', what, 'the API server does not allow it', APPLY_AGAIN);
  } catch (error) {
    return missed('rights', what, error, APPLY_AGAIN);
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

async function ask(api: KubeApiTarget, method: 'GET' | 'POST', path: string, body?: string): Promise<Answer> {
  const { host, port, caPem } = api;
  const headers = {
    authorization: `Bearer ${await api.token()}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const asking = request({ host, port, ca: caPem, method, path, headers, signal, agent: false });
    asking.once('error', reject);
    asking.once('response', (answer) => {
      const { statusCode = 0 } = answer;
      const { date } = answer.headers;
      readText(answer).then((read) => resolve({ status: statusCode, headers: { date }, body: read }), reject);
    });
    asking.end(body);
  });
}

/** Whoever answers at that address may send without end, to a pod with little memory. */
async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the answer, and with it the connection.
    if (bytes > MAX_ANSWER_BYTES) throw new Error('it answered with more than 1 MiB, which no API server does here');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
