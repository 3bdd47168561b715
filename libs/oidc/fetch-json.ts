import { FairleadError } from '@fairlead/errors';
import { Agent, type Dispatcher } from 'undici';

export interface FetchLimits {
  readonly maxBodyBytes: number;
  readonly timeoutMs: number;
}

/**
 * One GET and its JSON, bounded in time and bytes. Redirects are not followed: an issuer could lead us to an address that only we can reach. Throws
 * UNAVAILABLE, with what is wrong and nothing of the answer.
 */
export async function fetchJson(
  url: URL,
  certificateAuthority: string | null,
  { maxBodyBytes, timeoutMs }: FetchLimits,
): Promise<unknown> {
  const agent = new Agent({
    connect: {
      timeout: timeoutMs,
      minVersion: 'TLSv1.2',
      ...(certificateAuthority === null ? {} : { ca: certificateAuthority }),
    },
    maxHeaderSize: 32 * 1024,
  });
  try {
    const answer = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'fairlead' },
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (answer.statusCode !== 200) throw unusable(`it answered ${answer.statusCode}`);
    return parse(await readBody(answer, maxBodyBytes));
  } catch (error) {
    throw error instanceof FairleadError ? error : networkError(error);
  } finally {
    await agent.destroy();
  }
}

async function readBody(answer: Dispatcher.ResponseData, maxBodyBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw unusable(`it answered more than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch {
    throw unusable('it answered something that is not JSON');
  }
}

export function unusable(what: string): FairleadError {
  return new FairleadError('UNAVAILABLE', `the keys of the issuer cannot be had: ${what}`);
}

function networkError(error: unknown): FairleadError {
  const { code = '', name = '' } = error as { code?: string; name?: string };
  if (name === 'TimeoutError') return unusable('it did not answer in time');
  return unusable(/^[A-Z0-9_]{1,64}$/.test(code) ? `it could not be asked (${code})` : 'it could not be asked');
}
