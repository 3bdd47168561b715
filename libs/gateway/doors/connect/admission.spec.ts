import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { grantsKeys, type ClientEntry, type ClusterEntry, type GrantEntry } from '@fairlead/contracts';
import { testAuthority } from '@fairlead/testing';
import { expect, it } from 'vitest';
import { GrantsIndex } from '../../access/grants-index.js';
import type { Directory } from '../../directory.js';
import { admitTarget, identifyClient, whyShutOut, type IdentifiedClient } from './admission.js';

const clusterNamed = (name: string, env: string): ClusterEntry => {
  return { tenantId: 't', clusterId: `id-of-${name}`, name, generation: 1, labels: { env } };
};
const shop = clusterNamed('shop', 'prod');
const lab = clusterNamed('lab', 'test');
const foreign = { ...clusterNamed('foreign', 'prod'), tenantId: 'other' };
const CLUSTERS = [shop, lab, foreign];
const ofAll: ClientEntry = { tenantId: 't', clientId: 'p', name: 'prometheus', clusterIds: null };
const ofNone: ClientEntry = { ...ofAll, clusterIds: [] };
const METRICS = { host: '10.1.2.3', port: 9_100 };
const NOW_MS = Date.parse('2026-12-01T00:00:00Z');

function directoryWith(grants: readonly Partial<GrantEntry>[] = [], { fresh = true, client = ofNone } = {}): Directory {
  const index = new GrantsIndex();
  const subject = { kind: 'client', name: client.name } as const;
  const whole = grants.map((grant): GrantEntry => ({
    clusters: { all: true },
    notBefore: null,
    expiresAt: null,
    rule: allow('g'),
    ...grant,
  }));
  if (whole.length > 0)
    index.set(grantsKeys.subject('t', subject), { kind: 'subject', tenantId: 't', subject, grants: whole });
  const known = {
    fresh,
    grants: index,
    revocations: { has: () => false },
    clusterByName: (name: string) => CLUSTERS.find((each) => each.name === name),
    clusterById: (id: string) => CLUSTERS.find((each) => each.clusterId === id),
    clientById: () => client,
    clusters: () => CLUSTERS.values(),
    clustersOf: ({ clusterIds }: ClientEntry) => (clusterIds ? [] : [shop, lab]),
  };
  return known as unknown as Directory;
}

function allow(grantId: string, effect: 'allow' | 'deny' = 'allow'): GrantEntry['rule'] {
  return { grantId, effect, groups: [], narrowing: {} };
}

const asked = (serverName?: string, target = METRICS) => ({ serverName, authorization: undefined, target });
const refused = (code: string, message: RegExp): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error;

it('believes no certificate that TLS did not verify', async () => {
  const { certificatePem } = await (await testAuthority()).service('keys');
  const directory = { loaded: true } as Directory;
  const identify = (authorized: boolean) => {
    const socket = { authorized, getPeerX509Certificate: () => new X509Certificate(certificatePem) };
    return identifyClient(directory, 'fairlead.local', socket as unknown as TLSSocket);
  };
  expect(() => identify(false)).toThrow(refused('CERTIFICATE_REFUSED', /not verified/));
  expect(() => identify(true)).toThrow(refused('CERTIFICATE_REFUSED', /not one of a client/));
});

it('opens nothing once what this replica knows is an hour old, whoever the client is', () => {
  const admit = (fresh: boolean) => admitTarget(directoryWith([], { fresh }), ofAll, asked('shop.example'), NOW_MS);
  expect(admit(true)).toEqual({ cluster: shop, grantIds: [] });
  expect(() => admit(false)).toThrow(refused('UNAVAILABLE', /for an hour/));
});

it('lets a client reach what is granted to it, in the clusters that the grant means, and nothing beside it', () => {
  const directory = directoryWith([{ targets: ['10.0.0.0/8:9100'], clusters: { selector: 'env=prod' } }]);
  expect(admitTarget(directory, ofNone, asked('shop'), NOW_MS)).toEqual({ cluster: shop, grantIds: ['g'] });
  // The only one that it knows of need not be named.
  expect(admitTarget(directory, ofNone, asked(), NOW_MS).cluster).toBe(shop);
  const ssh = asked('shop', { ...METRICS, port: 22 });
  expect(() => admitTarget(directory, ofNone, ssh, NOW_MS)).toThrow(
    refused('FORBIDDEN', /10\.1\.2\.3:22.*no grant holds/),
  );
  const basic = (name: string) => ({
    ...asked(),
    authorization: `Basic ${Buffer.from(`${name}:`).toString('base64')}`,
  });
  for (const name of ['lab', 'foreign', 'nowhere']) {
    expect(() => admitTarget(directory, ofNone, basic(name), NOW_MS)).toThrow(
      refused('FORBIDDEN', /there is no cluster/),
    );
  }
  expect(() => admitTarget(directoryWith(), ofNone, asked(), NOW_MS)).toThrow(refused('FORBIDDEN', /reach no cluster/));
});

it('goes on with all targets of the clusters that a client was registered with, unless a grant denies', () => {
  expect(admitTarget(directoryWith([], { client: ofAll }), ofAll, asked('lab'), NOW_MS).cluster).toBe(lab);
  const denied = directoryWith([{ rule: allow('d', 'deny'), clusters: { names: ['lab'] } }], { client: ofAll });
  expect(() => admitTarget(denied, ofAll, asked('lab'), NOW_MS)).toThrow(refused('FORBIDDEN', /a grant that denies/));
  expect(admitTarget(denied, ofAll, asked('shop'), NOW_MS).cluster).toBe(shop);
});

it('shuts out what stands once its grant has ended, by the clock, or another one denies', () => {
  const expiresAt = new Date(NOW_MS + 1_000).toISOString();
  const directory = directoryWith([{ targets: ['10.0.0.0/8:*'], expiresAt }]);
  const who = { client: ofNone, certificate: {} } as unknown as IdentifiedClient;
  const what = { clusterId: shop.clusterId, target: METRICS };
  expect(whyShutOut(directory, who, what, NOW_MS)).toBeNull();
  expect(whyShutOut(directory, who, what, NOW_MS + 1_000)).toMatchObject({ code: 'FORBIDDEN' });
  directory.grants.setUnread(grantsKeys.subject('t', { kind: 'client', name: ofNone.name }));
  expect(whyShutOut(directory, who, what, NOW_MS)).toMatchObject({ code: 'FORBIDDEN' });
});
