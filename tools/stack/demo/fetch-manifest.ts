import { request } from 'node:https';
import { StackError } from '../errors.js';

const MAX_BYTES = 256 * 1024;
const DEADLINE_MS = 15_000;

/** Redeems an import link: one GET, whose path is a secret and stands in no message. */
export function fetchManifest(url: string, caPem: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new StackError(`the import manifest could not be fetched: ${why}`));
    const asked = request(url, { ca: caPem, agent: false, signal: AbortSignal.timeout(DEADLINE_MS) }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) asked.destroy(new Error('it is too large'));
        else chunks.push(chunk);
      });
      response.on('error', (error) => fail(error.message));
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'));
        else fail(`the API answered with status ${response.statusCode}`);
      });
    });
    asked.on('error', (error) => fail(error.message));
    asked.end();
  });
}
