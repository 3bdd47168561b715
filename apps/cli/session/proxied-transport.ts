import { request } from 'undici';
import { dispatcherFor } from './dispatcher.js';
import type { Reaching, Transport } from './transport.js';

/** Through the forward proxy that the user's environment names. */
export function proxiedTransport(reaching: Reaching): Transport {
  const dispatcher = dispatcherFor(reaching);
  return {
    async send(url, { headers, ...asked }) {
      const { statusCode: status, body } = await request(url, { ...asked, headers, dispatcher });
      return { status, text: await body.text() };
    },
    destroy: () => dispatcher.destroy(),
  };
}
