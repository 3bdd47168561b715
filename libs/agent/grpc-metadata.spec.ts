import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GrpcMetadata } from './grpc-metadata.js';

const name = fc.constantFrom('a', 'A', 'content-type', 'Content-Type', 'x-bin', 'bad name', '', 'é');
const value = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom(' x ', 'a\r\nb', '\u{e9}', '\u{100}', '\t'));
const step = fc.tuple(fc.constantFrom('append', 'set', 'delete', 'get', 'has'), name, value);

type Subject = Pick<Headers, 'append' | 'set' | 'delete' | 'get' | 'has'>;

function take(subject: Subject, [action, field, content]: [string, string, string]): unknown {
  try {
    if (action === 'append') return subject.append(field, content);
    if (action === 'set') return subject.set(field, content);
    if (action === 'delete') return subject.delete(field);
    return action === 'get' ? subject.get(field) : subject.has(field);
  } catch {
    return 'refused';
  }
}

it('does what the Headers of the Web do', () => {
  const asked = (step: readonly string[]): boolean =>
    step[0] === 'append' || step[0] === 'set' || /^[a-z-]+$/i.test(step[1] ?? '');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const [ours, theirs] = [new GrpcMetadata(), new Headers()];
      // A name that cannot be: theirs throws when asked for it too, ours has none such.
      for (const each of steps.filter(asked)) expect(take(ours, each)).toEqual(take(theirs, each));
      expect([...ours]).toEqual([...theirs]);
      expect([...new GrpcMetadata(theirs)]).toEqual([...new Headers(theirs)]);
      expect([...new GrpcMetadata(Object.fromEntries(theirs)).keys()]).toEqual([...theirs.keys()]);
      const [seen, expected]: [string[], string[]] = [[], []];
      ours.forEach((content, field) => seen.push(`${field}=${content}`));
      theirs.forEach((content, field) => expected.push(`${field}=${content}`));
      expect(seen).toEqual(expected);
    }),
  );
});
