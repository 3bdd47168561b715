import { describe, expect, it } from 'vitest';
import { readStreamRequest } from './stream-request.js';

const POD = '/api/v1/namespaces/shop/pods/web-0';

describe('a request for a stream', () => {
  it('says what is run where', () => {
    const asked = readStreamRequest(
      `${POD}/exec?command=sh&command=-c&command=echo+%22a%20b%22&container=app&stdin=true`,
    );
    expect(asked).toEqual({
      kind: 'exec',
      namespace: 'shop',
      object: 'pods/web-0',
      container: 'app',
      command: ['sh', '-c', 'echo "a b"'],
      commandCut: false,
      stdin: true,
      tty: false,
    });
  });

  it.each([
    [`${POD}/attach?tty=1`, { kind: 'attach', object: 'pods/web-0', tty: true }],
    [`${POD}/portforward?ports=80`, { kind: 'portforward', object: 'pods/web-0' }],
    ['/api/v1/namespaces/a/services/http:web:80/proxy/ws', { kind: 'proxy', object: 'services/http:web:80' }],
    ['/api/v1/nodes/node-1/proxy/exec/a/b/c', { kind: 'proxy', namespace: '', object: 'nodes/node-1' }],
    ['/apis/example.test/v1/shells/a/connect', { kind: 'other', namespace: '', object: '' }],
    ['', { kind: 'other' }],
    [`${POD}/log?follow=false&stdin=0&tty=false`, { kind: 'other', stdin: false, tty: false }],
  ])('is known by its path: %s', (target, told) => expect(readStreamRequest(target)).toMatchObject(told));

  it('is told in part when it is long, and says so', () => {
    const long = 'x'.repeat(1_000);
    const one = readStreamRequest(`${POD}/exec?command=${long}&container=${long}`);
    expect([one.command, one.commandCut, one.container.length]).toEqual([['x'.repeat(256)], true, 253]);
    const many = readStreamRequest(`${POD}/exec?${'command=a&'.repeat(100)}`);
    expect([many.command.length, many.commandCut]).toEqual([32, true]);
  });
});
