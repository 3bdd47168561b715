import { request } from 'node:https';

const ANSWER_TIMEOUT_MS = 5_000;

export interface ClientTls {
  readonly ca: string;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Throws unless the HTTPS URL answers 200, and within 5 s. */
export function expectOk(url: string, tls: ClientTls): Promise<void> {
  return new Promise((done, fail) => {
    const asked = request(url, { ...tls, agent: false, timeout: ANSWER_TIMEOUT_MS }, (response) => {
      response.resume();
      if (response.statusCode === 200) done();
      else fail(new Error(`${url} answered ${response.statusCode}`));
    });
    asked.on('timeout', () => asked.destroy(new Error(`${url} did not answer in ${ANSWER_TIMEOUT_MS / 1000} s`)));
    asked.on('error', fail);
    asked.end();
  });
}
