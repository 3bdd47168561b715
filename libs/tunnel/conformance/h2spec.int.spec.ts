import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findBinary } from '@fairlead/testbed';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostAndPort, ownSubject, type GatewaySubject } from './gateway-subject.js';

/** A call that anybody may make; h2spec sends no gRPC message, so it is refused in trailers alone. */
const PATH = '/fairlead.link.v1.AgentLinkService/Discover';
/** For each answer. A case that waits for what never comes takes as long. */
const ANSWER_SECONDS = 5;
const MOST_MS = 170_000;
const CASES = 145;

/** Waits for DATA, and the answer to a call without a message has none: it ends with its head. */
const NO_DATA = 'its answer is to have DATA';
/** RFC 9113 dropped priorities, and with them this error of RFC 7540, section 5.3.1. */
const PRIORITY = 'a stream that depends on itself is an error of RFC 7540 alone';
/** RFC 9113, section 8.1.1, leaves it to who uses a message; a gRPC body has no content-length (libs/http2/README.md). */
const CONTENT_LENGTH = 'content-length is not compared';

/** What does not pass, and why. One more that fails and one more that passes both fail this test. */
const NOT_PASSED: Readonly<Record<string, string>> = {
  'generic/2 Sends a WINDOW_UPDATE frame on half-closed (remote) stream': NO_DATA,
  'generic/2 Sends a PRIORITY frame on half-closed (remote) stream': NO_DATA,
  'http2/5.3.1 Sends HEADERS frame that depend on itself': PRIORITY,
  'http2/5.3.1 Sends PRIORITY frame that depend on itself': PRIORITY,
  'http2/6.5.3 Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE': NO_DATA,
  'http2/6.9.1 Sends SETTINGS frame to set the initial window size to 1 and sends HEADERS frame': NO_DATA,
  'http2/6.9.2 Changes SETTINGS_INITIAL_WINDOW_SIZE after sending HEADERS frame': NO_DATA,
  'http2/6.9.2 Sends a SETTINGS frame for window size to be negative': NO_DATA,
  'http2/8.1.2.6 Sends a HEADERS frame with the "content-length" header field which does not equal the DATA frame payload length':
    CONTENT_LENGTH,
  'http2/8.1.2.6 Sends a HEADERS frame with the "content-length" header field which does not equal the sum of the multiple DATA frames payload length':
    CONTENT_LENGTH,
};

let subject: GatewaySubject;
let dir: ScratchDir;

beforeAll(async () => {
  dir = await scratchDir();
  subject = await ownSubject();
});
afterAll(async () => {
  await subject?.[Symbol.asyncDispose]();
  await dir?.[Symbol.asyncDispose]();
});

it('the link is held to HTTP/2 by h2spec', async () => {
  const { path } = await findBinary('h2spec');
  const { host, port } = hostAndPort(subject.link);
  const report = join(dir.path, 'h2spec.xml');
  const where = ['--host', host, '--port', String(port), '--path', PATH];
  const how = ['--tls', '--insecure', '--timeout', String(ANSWER_SECONDS), '--junit-report', report];
  // It ends with an error where a case fails; without a report there is nothing to read.
  await promisify(execFile)(path, [...where, ...how], { timeout: MOST_MS }).catch(() => undefined);
  const cases = readCases(await readFile(report, 'utf8'));
  expect(cases).toHaveLength(CASES);
  const notPassed = cases.filter(({ passed }) => !passed).map(({ name }) => name);
  expect(notPassed.toSorted()).toEqual(Object.keys(NOT_PASSED).toSorted());
});

/** Of a JUnit report as h2spec writes it, a case in one element: what is within is an error, or that it was skipped. */
function readCases(report: string): { readonly name: string; readonly passed: boolean }[] {
  const found = report.matchAll(/<testcase package="([^"]*)" classname="([^"]*)" time="[^"]*">(.*?)<\/testcase>/gs);
  return [...found].map(([, section, title, within]) => ({
    name: `${section} ${title?.replaceAll('&#34;', '"')}`,
    passed: within === '',
  }));
}
