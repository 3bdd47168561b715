import { FairleadError } from '@fairlead/errors';
import { TargetPolicy, parseTargetRule } from '@fairlead/targets';
import { expect, it } from 'vitest';
import { toldToCluster } from './refusals.js';

const policy = new TargetPolicy(['git.example.com:22', '10.0.0.0/8:22'].map(parseTargetRule), { names: 'listed' });
const told = (host: string, failure: FairleadError): readonly [string, string] => {
  const { code, message } = toldToCluster(failure, { host, port: 22 }, policy);
  return [code, message];
};

it('a name that is not there, leads to a private address, or where nothing answers, is one answer without that address', () => {
  const answers = [
    new FairleadError('TARGET_UNREACHABLE', 'git.example.com cannot be resolved: ENOTFOUND'),
    new FairleadError('TARGET_REFUSED', 'git.example.com:22 is not allowed, as what it resolves to is not allowed'),
    new FairleadError('TARGET_UNREACHABLE', '10.20.30.40:22 cannot be reached: ECONNREFUSED'),
  ].map((failure) => told('git.example.com', failure));
  expect(new Set(answers.map((answer) => answer.join(': '))).size).toBe(1);
  expect(answers[0]?.[0]).toBe('TARGET_UNREACHABLE');
  const late = told('git.example.com', new FairleadError('DEADLINE_EXCEEDED', '10.20.30.40:22 did not answer in time'));
  expect(late).toEqual(['DEADLINE_EXCEEDED', 'git.example.com:22 did not answer in time']);
});

it('what no rule lists, an address that it asked for itself, and what is no matter of names, is told as it is', () => {
  for (const [host, failure] of [
    ['other.example.com', new FairleadError('TARGET_REFUSED', 'other.example.com:22 is not allowed')],
    ['10.20.30.40', new FairleadError('TARGET_UNREACHABLE', '10.20.30.40:22 cannot be reached: ECONNREFUSED')],
    ['git.example.com', new FairleadError('RATE_LIMITED', 'too many names')],
  ] as const) {
    expect(told(host, failure)).toEqual([failure.code, failure.message]);
  }
});
