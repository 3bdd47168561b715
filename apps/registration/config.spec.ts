import { writeFileSync } from 'node:fs';
import { scratchDir, type ScratchDir } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from './config.js';

const DIGEST = `sha256:${'0f'.repeat(32)}`;

let scratch: ScratchDir;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  scratch = await scratchDir();
  const secret = scratch.file('secret');
  writeFileSync(secret, 'x', { mode: 0o600 });
  env = {
    FAIRLEAD_NATS_URL: 'nats://127.0.0.1:4222',
    FAIRLEAD_NATS_SEED_FILE: secret,
    FAIRLEAD_DATABASE_URL_FILE: secret,
    FAIRLEAD_LINK_ENDPOINTS: '127.0.0.1:7444',
    FAIRLEAD_AGENT_IMAGE: `registry.example.test/agent@${DIGEST}`,
    FAIRLEAD_INSTALLER_IMAGE: `registry.example.test/installer@${DIGEST}`,
  };
});
afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

it('takes where agents send their spans, which is nowhere unless it is said, and no password in it', () => {
  const endpoint = (url: string) =>
    readConfig({ ...env, FAIRLEAD_AGENT_TRACING_ENDPOINT: url }).FAIRLEAD_AGENT_TRACING_ENDPOINT;
  expect(readConfig(env).FAIRLEAD_AGENT_SERVER_NAME).toBeUndefined();
  expect(readConfig(env).FAIRLEAD_AGENT_TRACING_ENDPOINT).toBeUndefined();
  expect(endpoint('http://collector:4318')).toBe('http://collector:4318');
  for (const wrong of ['collector:4318', 'a b', 'grpc://collector:4317', 'https://user:secret@collector']) {
    expect(() => endpoint(wrong)).toThrow('FAIRLEAD_AGENT_TRACING_ENDPOINT');
  }
});

it.each(['FAIRLEAD_AGENT_IMAGE', 'FAIRLEAD_INSTALLER_IMAGE'])(
  'has no %s of its own, and takes one by digest',
  (name) => {
    expect(() => readConfig({ ...env, [name]: '' })).toThrow(`${name}: is not set`);
    const wrong = ['fairlead/agent:0.1.0', 'agent', `agent@${DIGEST.slice(0, -1)}`, `agent@${DIGEST}0`, `@${DIGEST}`];
    for (const image of wrong)
      expect(() => readConfig({ ...env, [name]: image })).toThrow(`${name}: expected an image by`);
    const [tagged] = wrong;
    const config: Record<string, unknown> = readConfig({
      ...env,
      [name]: tagged,
      FAIRLEAD_INSECURE_IMAGE_TAGS: 'true',
    });
    expect(config[name]).toBe(tagged);
  },
);
