import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAX_WAITING_NAMES, NameLookups, lookupsAtOnce } from './name-lookups.js';

/** A resolver that answers when it is told to. */
function resolver() {
  const asked: string[] = [];
  const open = new Map<string, PromiseWithResolvers<readonly string[]>>();
  const resolve = (name: string): Promise<readonly string[]> => {
    asked.push(name);
    const answer = Promise.withResolvers<readonly string[]>();
    open.set(name, answer);
    return answer.promise;
  };
  return { asked, resolve, answerTo: (name: string) => open.get(name) as PromiseWithResolvers<readonly string[]> };
}

afterEach(() => void vi.useRealTimers());

const never = (): AbortSignal => new AbortController().signal;
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'resolved',
    (error: unknown) => (error as { code?: string }).code ?? error,
  );

it('leaves one of the threads that libuv lets resolve names to the agent itself', () => {
  expect(['1', '4', undefined, '8', '16', '0', 'x', '9999'].map(lookupsAtOnce)).toEqual([1, 1, 1, 3, 7, 1, 1, 511]);
});

describe('names that are asked for', () => {
  it('run as many at a time as may, in the order they came', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, atOnce: 2 });
    const answers = ['a', 'b', 'c', 'd'].map((name) => names.lookup(name, never()));
    expect(asked).toEqual(['a', 'b']);
    answerTo('b').resolve(['10.0.0.2']);
    expect(await answers[1]).toEqual(['10.0.0.2']);
    expect(asked).toEqual(['a', 'b', 'c']);
    answerTo('a').reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    expect(await codeOf(answers[0] as Promise<unknown>)).toBe('ENOTFOUND');
    expect(asked).toEqual(['a', 'b', 'c', 'd']);
    answerTo('c').resolve([]);
    answerTo('d').resolve([]);
    await Promise.all(answers.slice(2));
  });

  it('share one lookup while it lasts, and no longer', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, atOnce: 1 });
    const gone = new AbortController();
    const answers = [names.lookup('a', never()), names.lookup('a', never()), names.lookup('a', gone.signal)];
    gone.abort('gone');
    expect(await codeOf(answers[2] as Promise<unknown>)).toBe('gone');
    answerTo('a').resolve(['10.0.0.1']);
    expect(await Promise.all(answers.slice(0, 2))).toEqual([['10.0.0.1'], ['10.0.0.1']]);
    expect(asked).toEqual(['a']);
    const later = names.lookup('a', never());
    answerTo('a').resolve(['10.0.0.9']);
    expect(await later).toEqual(['10.0.0.9']);
  });

  it('are not resolved once nobody waits for them, whereas one under way keeps its place until it ends', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, atOnce: 1 });
    const gone = new AbortController();
    const left = ['a', 'b', 'c'].map((name) => codeOf(names.lookup(name, gone.signal)));
    gone.abort('gone');
    expect(await Promise.all(left)).toEqual(['gone', 'gone', 'gone']);
    const next = names.lookup('d', never());
    expect(asked).toEqual(['a']);
    answerTo('a').resolve([]);
    await expect.poll(() => asked).toEqual(['a', 'd']);
    answerTo('d').resolve(['10.0.0.4']);
    expect(await next).toEqual(['10.0.0.4']);
    expect(await codeOf(names.lookup('e', AbortSignal.abort('too late')))).toBe('too late');
    expect(asked).toEqual(['a', 'd']);
  });

  it('wait for a while, and are then refused with a code that says so', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, atOnce: 1, waitMs: 30 });
    const slow = names.lookup('slow', never());
    const others = [names.lookup('a', never()), names.lookup('a', never())];
    for (const other of others) {
      await expect(other).rejects.toMatchObject({ code: 'TARGET_UNREACHABLE', message: expect.stringContaining('a ') });
    }
    answerTo('slow').resolve(['10.0.0.1']);
    expect(await slow).toEqual(['10.0.0.1']);
    expect(asked).toEqual(['slow']);
  });

  it('beyond those that may wait are refused at once', async () => {
    const { resolve } = resolver();
    const names = new NameLookups({ resolve, atOnce: 1 });
    const gone = new AbortController();
    const all = Array.from({ length: 1 + MAX_WAITING_NAMES }, (_, n) => codeOf(names.lookup(`n${n}`, gone.signal)));
    expect(await codeOf(names.lookup('one-more', never()))).toBe('TARGET_UNREACHABLE');
    const joined = codeOf(names.lookup('n0', gone.signal));
    gone.abort('gone');
    expect(new Set([...(await Promise.all(all)), await joined])).toEqual(new Set(['gone']));
  });
});

describe('names of several askers', () => {
  const perAsker = { atOnce: 1, waiting: 2, rate: { burst: 100, perSecond: 100 } };

  it('are resolved for each in turn: slow ones of one keep nobody else waiting, not even for the same name', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, atOnce: 3, perAsker });
    const slow = ['slow', 'git', 'slower'].map((name) => names.lookup(name, never(), 'hostile'));
    expect(asked).toEqual(['slow']);
    const git = names.lookup('git', never(), 'other');
    expect(asked).toEqual(['slow', 'git']);
    answerTo('git').resolve(['10.0.0.1']);
    expect([await git, await slow[1]]).toEqual([['10.0.0.1'], ['10.0.0.1']]);
    expect(asked).toEqual(['slow', 'git']);
    answerTo('slow').resolve([]);
    await expect.poll(() => asked).toEqual(['slow', 'git', 'slower']);
    answerTo('slower').resolve([]);
    await Promise.all(slow);
  });

  it('wait in a bounded number, and come at a bounded rate', async () => {
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({
      resolve,
      atOnce: 3,
      perAsker: { ...perAsker, rate: { burst: 4, perSecond: 0.001 } },
    });
    const gone = new AbortController();
    const first = ['a', 'b', 'c'].map((name) => codeOf(names.lookup(name, gone.signal, 'one')));
    expect(await codeOf(names.lookup('d', never(), 'one'))).toBe('RATE_LIMITED');
    gone.abort('gone');
    await Promise.all(first);
    answerTo('a').resolve([]);
    await expect.poll(() => codeOf(names.lookup('a', AbortSignal.abort('x'), 'one'))).toBe('x');
    const fourth = codeOf(names.lookup('d', never(), 'one'));
    await expect.poll(() => asked).toEqual(['a', 'd']);
    answerTo('d').resolve([]);
    expect(await fourth).toBe('resolved');
    expect(await codeOf(names.lookup('e', never(), 'one'))).toBe('RATE_LIMITED');
    expect(asked).toEqual(['a', 'd']);
  });

  it('that failed a moment ago fail again without being asked for, for a while', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { asked, resolve, answerTo } = resolver();
    const names = new NameLookups({ resolve, failureMs: 200 });
    const first = codeOf(names.lookup('no', never(), 'one'));
    answerTo('no').reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
    expect(await first).toBe('ENOTFOUND');
    vi.advanceTimersByTime(199);
    expect(await codeOf(names.lookup('no', never(), 'other'))).toBe('ENOTFOUND');
    expect(asked).toEqual(['no']);
    vi.advanceTimersByTime(1);
    const again = codeOf(names.lookup('no', never(), 'one'));
    expect(asked).toEqual(['no', 'no']);
    answerTo('no').resolve([]);
    expect(await again).toBe('resolved');
  });
});
