import { writeFileSync } from 'node:fs';
import { scratchDir } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { readConfig } from './config.js';

it('takes where agents send their spans, which is nowhere unless it is said, and no password in it', async () => {
  await using scratch = await scratchDir();
  const secret = scratch.file('secret');
  writeFileSync(secret, 'x', { mode: 0o600 });
  const env = {
    FAIRLEAD_NATS_URL: 'nats://127.0.0.1:4222',
    FAIRLEAD_NATS_SEED_FILE: secret,
    FAIRLEAD_DATABASE_URL_FILE: secret,
    FAIRLEAD_ADMIN_TOKEN_FILE: secret,
    FAIRLEAD_LINK_ENDPOINTS: '127.0.0.1:7444',
    FAIRLEAD_AGENT_IMAGE: 'fairlead/agent:test',
  };
  const endpoint = (url: string) =>
    readConfig({ ...env, FAIRLEAD_AGENT_TRACING_ENDPOINT: url }).FAIRLEAD_AGENT_TRACING_ENDPOINT;
  expect(readConfig(env).FAIRLEAD_AGENT_TRACING_ENDPOINT).toBeUndefined();
  expect(endpoint('http://collector:4318')).toBe('http://collector:4318');
  for (const wrong of ['collector:4318', 'a b', 'grpc://collector:4317', 'https://user:secret@collector']) {
    expect(() => endpoint(wrong)).toThrow('FAIRLEAD_AGENT_TRACING_ENDPOINT');
  }
});
