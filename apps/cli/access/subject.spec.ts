import { expect, it } from 'vitest';
import { subjectIn, subjectNamed, subjectOf } from './subject.js';

it('takes who is named by an option', () => {
  expect(subjectOf({ token: 'deployer' })).toEqual({ kind: 'token', name: 'deployer' });
  expect(subjectIn({})).toBeUndefined();
  expect(() => subjectOf({})).toThrow('it is not said whom');
});

it.each([
  ['corp:alice', { kind: 'user', name: 'corp:alice' }],
  ['token:deployer', { kind: 'token', name: 'deployer' }],
  ['workload:ci:repo:org/app', { kind: 'workload', name: 'ci:repo:org/app' }],
  ['token:', { kind: 'user', name: 'token:' }],
  ['me', undefined],
])('knows %s by how clusters call them', (text, subject) => {
  expect(subjectNamed(text)).toEqual(subject);
});
