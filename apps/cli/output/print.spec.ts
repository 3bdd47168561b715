import { PassThrough } from 'node:stream';
import { oneLine } from '@fairlead/errors';
import { describe, expect, it } from 'vitest';
import { linkLines } from '../commands/cluster-import.js';
import { describeFailure, failure, usage } from '../failure.js';
import type { Io } from '../io.js';
import { ageText, statusCell } from './cluster-view.js';
import { printJson, printLines } from './print.js';
import { SOME_CLUSTER } from '../testing/some-cluster.js';

describe('what people see', () => {
  it('is one line that cannot move the cursor', () => {
    expect(oneLine('a\n b\t\u001b[31mred\u0007\u202e ')).toBe('a b ?[31mred??');
  });

  it('moves no cursor in lines and JSON either, and means the same', () => {
    const stdout = new PassThrough();
    const io = { stdout } as unknown as Io;
    printLines(io, 'a\u001b[2J\u009bb\u202e\r', '  two\n  three');
    expect(String(stdout.read())).toBe('a?[2J?b??\n  two\n  three\n');
    const value = { name: 'a\u001b\u007f\u009b\u202e\u{e0001}é' };
    printJson(io, value);
    const printed = String(stdout.read());
    expect(printed).toBe('{\n  "name": "a\\u001b\\u007f\\u009b\\u202e\\udb40\\udc01é"\n}\n');
    expect(JSON.parse(printed)).toEqual(value);
  });

  it('is a link that stays on its line and in its word of the shell', () => {
    const link = { url: "https://x/import/a'; rm -rf $HOME #\u001b[2J", expiresAt: '2026\n rm -rf /\u0007' };
    const word = String.raw`'https://x/import/a'\''; rm -rf $HOME #?[2J'`;
    const comment = '# works once, until 2026 rm -rf /?; in the cluster to import:';
    expect(linkLines(link, {}).slice(1)).toEqual(['', comment, `kubectl apply -f ${word}`]);
    expect(linkLines(link, {})[0]).not.toContain('\u001b');
    const byRoot = linkLines(link, { certificateAuthority: 'PEM', certificateAuthorityFile: 'it\n.pem\u0007' });
    expect(byRoot.at(-1)).toBe(`curl -fsS --cacert root.pem ${word} | kubectl apply -f -`);
    expect(byRoot.at(-2)).toMatch(/, with it .pem\? sent along as root.pem:$/);
  });

  it('tells what to do next, and the exit status', () => {
    const away = describeFailure(failure('UNAVAILABLE', 'it is away', 'wait'));
    expect(away).toEqual({ text: 'error: it is away\nnext: wait\n', exitCode: 1 });
    expect(describeFailure(usage('no', 'yes')).exitCode).toBe(2);
    expect(describeFailure(new Error('plain'))).toEqual({ text: 'error: plain\n', exitCode: 1 });
    expect(describeFailure('odd').text).toBe('error: odd\n');
  });

  it('shows ages in the largest unit that says something', () => {
    const now = new Date('2026-01-10T00:00:00Z');
    const ages = ['2026-01-09T23:59:55Z', '2026-01-09T23:50:00Z', '2026-01-09T12:00:00Z', '2026-01-01T00:00:00Z'];
    expect(ages.map((since) => ageText(since, now))).toEqual(['5s', '10m', '12h', '9d']);
    expect([ageText('never', now), ageText('2027-01-01T00:00:00Z', now)]).toEqual(['-', '0s']);
  });

  it('tells a cluster that never came from one that is away', () => {
    const cluster = (state: string, enrolledAt: string | null): Parameters<typeof statusCell>[0] => ({
      ...SOME_CLUSTER,
      enrolledAt,
      presence: { ...SOME_CLUSTER.presence, state },
    });
    expect(statusCell(cluster('never', null))).toMatchObject({ text: 'never' });
    expect(statusCell(cluster('online', 'x'))).toMatchObject({ text: 'online', colour: 'green' });
    expect(statusCell(cluster('offline', 'x'))).toMatchObject({ text: 'offline', colour: 'red' });
    expect(statusCell(cluster('from the future', 'x'))).toMatchObject({ text: 'from the future' });
  });
});
