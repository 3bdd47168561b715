import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAskedHost, type AskedHost } from './cluster-host.js';

const read = (authority: string, serverName: string | undefined = authority, domain: string | null = 'k.example') =>
  readAskedHost({ rawHeaders: ['Host', authority], serverName, clusterDomain: domain ?? undefined });

describe('the host of a request', () => {
  it.each<[authority: string, serverName: string | undefined, AskedHost]>([
    ['demo.k.example', 'demo.k.example', { kind: 'cluster', cluster: 'demo' }],
    ['demo.k.example:7443', 'demo.k.example', { kind: 'cluster', cluster: 'demo' }],
    ['DEMO.K.Example.:7443', 'Demo.k.example', { kind: 'cluster', cluster: 'demo' }],
    ['a.b.k.example', 'a.b.k.example', { kind: 'cluster', cluster: 'a.b' }],
    ['.k.example', '.k.example', { kind: 'cluster', cluster: '' }],
    ['door.example:7443', 'door.example', { kind: 'shared' }],
    ['k.example', 'k.example', { kind: 'shared' }],
    ['demok.example', 'demok.example', { kind: 'shared' }],
    ['door.example', 'other.example', { kind: 'shared' }],
    ['127.0.0.1:7443', undefined, { kind: 'shared' }],
    ['[::1]:7443', undefined, { kind: 'shared' }],
    ['', undefined, { kind: 'shared' }],
    ['demo.k.example', 'other.k.example', { kind: 'misdirected' }],
    ['demo.k.example', 'door.example', { kind: 'misdirected' }],
    ['door.example', 'demo.k.example', { kind: 'misdirected' }],
    ['demo.k.example', '', { kind: 'misdirected' }],
  ])('%s on a connection to %s', (authority, serverName, expected) => {
    const asked = { rawHeaders: ['Host', authority], serverName, clusterDomain: 'k.example' };
    expect(readAskedHost(asked)).toEqual(expected);
  });

  it('says nothing of a cluster where clusters have none of their own', () => {
    expect(read('demo.k.example', 'other.k.example', null)).toEqual({ kind: 'shared' });
  });

  it('may be told by HTTP/2, and twice if it is the same', () => {
    const asked = { serverName: 'demo.k.example', clusterDomain: 'k.example' };
    const own: AskedHost = { kind: 'cluster', cluster: 'demo' };
    expect(readAskedHost({ ...asked, rawHeaders: [':authority', 'demo.k.example'] })).toEqual(own);
    const twice = [':authority', 'demo.k.example', 'host', 'demo.k.example'];
    expect(readAskedHost({ ...asked, rawHeaders: twice })).toEqual(own);
  });

  it.each([
    ['two Host headers', ['Host', 'demo.k.example', 'host', 'demo.k.example']],
    ['two that differ', ['Host', 'demo.k.example', 'host', 'other.k.example']],
    ['an authority and another Host', [':authority', 'demo.k.example', 'host', 'other.k.example']],
    ['a user before it', ['Host', 'root@demo.k.example']],
    ['two ports', ['Host', 'demo.k.example:1:2']],
    ['a path', ['Host', 'demo.k.example/x']],
    ['a list', ['Host', 'demo.k.example, other.k.example']],
    ['a blank', ['Host', 'demo.k.example x']],
    ['what is no ASCII', ['Host', 'dém.k.example']],
  ])('is refused with %s', (_, rawHeaders) => {
    expect(readAskedHost({ rawHeaders, serverName: 'demo.k.example', clusterDomain: 'k.example' })).toMatchObject({
      kind: 'refused',
    });
  });

  it('is never a cluster’s on a connection to another, whatever it looks like', () => {
    const part = fc.constantFrom('demo', 'other', '.', 'k', 'example', '.k.example', ':', '7443', 'DEMO', '%2e', '@');
    const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, text, (authority, serverName) => {
        const asked = read(authority, serverName);
        const own = asked.kind === 'cluster' ? `${asked.cluster}.k.example` : null;
        expect(own === null || serverName.toLowerCase().replace(/\.$/, '') === own).toBe(true);
      }),
    );
  });
});
