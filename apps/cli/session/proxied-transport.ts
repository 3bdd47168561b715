import { request, type Dispatcher } from 'undici';
import { dispatcherFor } from './dispatcher.js';
import type { Reaching, Transport } from './transport.js';

/** As undici has it. */
const ANY_BYTES = -1;

/** Through the forward proxy that the user's environment names. */
export function proxiedTransport(reaching: Reaching): Transport {
  const dispatcher = dispatcherFor(reaching);
  let streams: Dispatcher | undefined;
  return {
    async send(url, { headers, ...asked }) {
      const { statusCode: status, body } = await request(url, { ...asked, headers, dispatcher });
      return { status, text: await body.text() };
    },
    async open(url, { headers, idleMs }) {
      streams ??= dispatcherFor(reaching, { minVersion: 'TLSv1.3', maxAnswerBytes: ANY_BYTES });
      const waits = { headersTimeout: idleMs, bodyTimeout: idleMs };
      const { statusCode: status, body } = await request(url, { headers, dispatcher: streams, ...waits });
      return { status, body };
    },
    destroy: async () => {
      await Promise.all([dispatcher.destroy(), streams?.destroy()]);
    },
  };
}
