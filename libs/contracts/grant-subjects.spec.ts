import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Subject } from './access.js';
import { grantsKeys, subjectHash, subjectsOf } from './grant-subjects.js';

const subject = fc.record({
  kind: fc.constantFrom(...Subject.shape.kind.options),
  name: fc.string({ minLength: 1, maxLength: 64 }),
});

describe('subjectsOf', () => {
  it('gives a person their name and their groups', () => {
    expect(subjectsOf({ kind: 'login', user: 'corp:ada', subjectGroups: ['corp:dev'] })).toEqual([
      { kind: 'user', name: 'corp:ada' },
      { kind: 'group', name: 'corp:dev' },
    ]);
  });

  it('gives tokens and programs no name of a person', () => {
    expect(subjectsOf({ kind: 'token', user: 'token:ci', subjectGroups: [] })).toEqual([{ kind: 'token', name: 'ci' }]);
    expect(subjectsOf({ kind: 'workload', user: 'workload:gh:repo', subjectGroups: [] })).toEqual([
      { kind: 'workload', name: 'gh:repo' },
    ]);
    // Whatever an issuer calls somebody, it stays a person.
    expect(subjectsOf({ kind: 'login', user: 'token:ci', subjectGroups: [] })).toEqual([
      { kind: 'user', name: 'token:ci' },
    ]);
  });

  it('gives the administrator nothing to be granted to', () => {
    expect(subjectsOf({ kind: 'administrator', user: 'admin', subjectGroups: ['g'] })).toEqual([]);
  });
});

describe('grantsKeys', () => {
  it('are the same in every version', () => {
    expect(grantsKeys.subject('default', { kind: 'user', name: 'corp:ada' })).toBe(
      'default.subject.Hh-YNAyHik5tKt7_dT3MpMn90Te4V_BWiU0qVO67Crw',
    );
    expect(grantsKeys.lockdown('default', null)).toBe('default.lockdown.all');
  });

  it('are keys of NATS, and differ where subjects do', () => {
    fc.assert(
      fc.property(subject, subject, (one, other) => {
        expect(subjectHash(one)).toMatch(/^[A-Za-z0-9_-]{43}$/);
        const same = one.kind === other.kind && one.name === other.name;
        expect(subjectHash(one) === subjectHash(other)).toBe(same);
      }),
    );
  });
});
