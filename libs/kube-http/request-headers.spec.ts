import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asksToImpersonate,
  bodyFraming,
  fromClient,
  fromServer,
  fromTunnel,
  headerPairs,
  withAuditId,
} from './request-headers.js';

const names = (raw: readonly string[]): string[] => [...headerPairs(raw)].map(([name]) => name.toLowerCase());

describe('what a client sends', () => {
  it.each([
    'Authorization',
    'COOKIE',
    'Impersonate-User',
    'impersonate-group',
    'IMPERSONATE-UID',
    'Impersonate-Extra-Scopes',
    'Impersonate-',
    'X-Remote-User',
    'x-remote-group',
    'X-REMOTE-EXTRA-foo',
    'X-Remote-Uid',
    'X-Forwarded-For',
    'x-forwarded-proto',
    'X-Real-Ip',
    'Forwarded',
    'Via',
    'Audit-ID',
    'Traceparent',
    'Expect',
    ':authority',
  ])('loses %s', (name) => {
    expect(fromClient([name, 'x', 'Accept', '*/*'])).toEqual(['Accept', '*/*']);
  });

  it.each(['Connection', 'Keep-Alive', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'Proxy-Authorization'])(
    'loses the hop-by-hop %s, on every leg',
    (name) => {
      for (const pass of [fromClient, fromTunnel, fromServer]) expect(pass([name, 'x', 'A', 'b'])).toEqual(['A', 'b']);
    },
  );

  it('loses what Connection names, in any case, in any of several Connection headers', () => {
    const raw = ['connection', 'close, X-ONE', 'X-One', '1', 'CONNECTION', ' x-two ,', 'x-Two', '2', 'X-Three', '3'];
    expect(fromClient(raw)).toEqual(['X-Three', '3']);
  });

  it('cannot remove what comes after it: identity is added to the cleaned list, whatever Connection names', () => {
    const cleaned = fromTunnel(['Connection', 'Impersonate-User, Authorization', 'Accept', 'x']);
    expect([...cleaned, 'Impersonate-User', 'alice']).toEqual(['Accept', 'x', 'Impersonate-User', 'alice']);
  });

  it('cannot take Host or the length of its body away', () => {
    const raw = ['Connection', 'Host, content-length', 'Host', 'h', 'Content-Length', '5'];
    expect(fromClient(raw)).toEqual(['Host', 'h', 'Content-Length', '5']);
    expect(fromTunnel(raw)).toEqual(['Host', 'h', 'Content-Length', '5']);
  });

  it('keeps repeated headers repeated, in their order and spelling', () => {
    const raw = ['X-Stream-Protocol-Version', 'v4', 'Accept', 'a', 'X-Stream-Protocol-Version', 'v3'];
    expect(fromClient(raw)).toEqual(raw);
  });

  it('loses a bearer token among WebSocket subprotocols, and nothing else of them', () => {
    const bearer = 'base64url.bearer.authorization.k8s.io.c2VjcmV0';
    const name = 'Sec-WebSocket-Protocol';
    expect(fromClient([name, `${bearer}, v5.channel.k8s.io`])).toEqual([name, 'v5.channel.k8s.io']);
    expect(fromClient([name, bearer.toUpperCase()])).toEqual([]);
    expect(fromClient([name, 'v4.channel.k8s.io', name, bearer])).toEqual([name, 'v4.channel.k8s.io']);
  });

  it('never keeps an identity, whatever else is there', () => {
    const name = fc.constantFrom(
      'Impersonate-User',
      'AUTHORIZATION',
      'cookie',
      'X-Remote-User',
      'Accept',
      'Connection',
    );
    const value = fc.constantFrom('x', 'accept', 'impersonate-user', 'close');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), (pairs) => {
        for (const kept of [fromClient(pairs.flat()), fromTunnel(pairs.flat())]) {
          expect(names(kept).filter((lower) => lower !== 'accept')).toEqual([]);
        }
      }),
    );
  });

  it('is known to ask for another identity by any Impersonate header', () => {
    expect(asksToImpersonate(['IMPERSONATE-extra-x', ''])).toBe(true);
    expect(asksToImpersonate(['X-Impersonate-User', 'a', 'Accept', 'Impersonate-User'])).toBe(false);
  });
});

describe('what comes out of a tunnel', () => {
  it('keeps the gateway’s own words and loses identities all the same', () => {
    const raw = [
      'Audit-ID',
      'a',
      'Traceparent',
      't',
      'X-Forwarded-For',
      '1.2.3.4',
      'Impersonate-User',
      'root',
      'Authorization',
      'x',
    ];
    expect(fromTunnel(raw)).toEqual(['Audit-ID', 'a', 'Traceparent', 't', 'X-Forwarded-For', '1.2.3.4']);
  });
});

describe('what a cluster answers', () => {
  it('keeps its warnings and loses what would hold for the whole origin of the gateway', () => {
    const raw = ['Warning', '299 - "a"', 'Warning', '299 - "b"', 'Set-Cookie', 'a=b', 'Alt-Svc', 'h3=":1"'];
    expect(fromServer([...raw, 'Clear-Site-Data', '"*"'])).toEqual(raw.slice(0, 4));
  });

  it('names the record of the gateway, and no other', () => {
    const raw = ['Audit-Id', 'theirs', 'A', 'b', 'AUDIT-ID', 'again', 'A', 'c'];
    expect(withAuditId(raw, 'ours')).toEqual(['A', 'b', 'A', 'c', 'Audit-Id', 'ours']);
  });
});

describe('where a body ends', () => {
  it.each([
    [[], 'none'],
    [['Content-Length', '0'], 'none'],
    [['content-length', '5'], 'length'],
    [['Transfer-Encoding', 'Chunked'], 'chunked'],
  ] as const)('%j → %s', (raw, framing) => {
    expect(bodyFraming(raw)).toBe(framing);
  });

  it('is found beyond the thousandth header', () => {
    const many = Array.from({ length: 3_000 }, () => ['a', 'b']).flat();
    expect(bodyFraming([...many, 'Transfer-Encoding', 'chunked'])).toBe('chunked');
  });

  it.each([
    [['Content-Length', '5', 'Transfer-Encoding', 'chunked']],
    [['Content-Length', '5', 'content-length', '5']],
    [['Content-Length', '5, 5']],
    [['Content-Length', '+5']],
    [['Content-Length', '0x5']],
    [['Transfer-Encoding', 'gzip, chunked']],
    [['Transfer-Encoding', 'identity']],
    [['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked']],
  ])('is refused when it can be read twice: %j', (raw) => {
    expect(() => bodyFraming(raw)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
