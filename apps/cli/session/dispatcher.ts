import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { CONNECT_TIMEOUT_MS, MAX_ANSWER_BYTES, trustedBy, type Reaching } from './transport.js';

/** What is not as for a server of ours. */
interface OtherServer {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly maxAnswerBytes: number;
}

const OURS: OtherServer = { minVersion: 'TLSv1.3', maxAnswerBytes: MAX_ANSWER_BYTES };

/** Trusts what the target says, and dials as the user's proxy settings say. The caller destroys it. */
export function dispatcherFor(reaching: Reaching, { minVersion, maxAnswerBytes }: OtherServer = OURS): Dispatcher {
  const connect = { ca: trustedBy(reaching), timeout: CONNECT_TIMEOUT_MS, minVersion };
  const options = { connect, maxResponseSize: maxAnswerBytes };
  const { proxy } = reaching;
  if (!proxy) return new Agent(options);
  return new EnvHttpProxyAgent({ ...options, httpsProxy: proxy.url, noProxy: proxy.except, requestTls: connect });
}
