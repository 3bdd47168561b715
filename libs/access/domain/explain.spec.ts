import type { AccessRule } from '@fairlead/access-rules';
import { describe, expect, it } from 'vitest';
import type { Grant } from '@fairlead/contracts';
import { attributesOf, explain, explainTarget, type Question } from './explain.js';

const question = (change: Partial<Question> = {}): Question => ({
  verb: 'get',
  resource: 'pods',
  namespace: 'shop',
  name: '',
  ...change,
});
const rule = (change: Partial<AccessRule> = {}): AccessRule => ({
  grantId: crypto.randomUUID(),
  effect: 'allow',
  groups: ['fairlead:view'],
  narrowing: {},
  ...change,
});

describe('attributesOf', () => {
  const resource = { kind: 'resource', verb: 'get', apiGroup: '', subresource: '', namespace: 'shop', name: '' };
  it.each([
    ['pods', { ...resource, resource: 'pods' }],
    ['pods/log', { ...resource, resource: 'pods', subresource: 'log' }],
    ['deployments.apps', { ...resource, resource: 'deployments', apiGroup: 'apps' }],
    ['deployments.apps/scale', { ...resource, resource: 'deployments', apiGroup: 'apps', subresource: 'scale' }],
    ['pods.metrics.k8s.io', { ...resource, resource: 'pods', apiGroup: 'metrics.k8s.io' }],
    ['/metrics', { kind: 'url', verb: 'get', path: '/metrics' }],
  ])('%s', (text, attributes) => {
    expect(attributesOf(question({ resource: text }))).toEqual(attributes);
  });

  it.each(['pods/', '.apps', 'pods/log/x', 'pods.'])('refuses %s', (text) => {
    expect(() => attributesOf(question({ resource: text }))).toThrow(/name a resource/);
  });
});

describe('explain', () => {
  it('names the grant that allows, and the groups', () => {
    const allowing = rule({ narrowing: { namespaces: ['shop'] } });
    expect(explain([rule({ narrowing: { namespaces: ['other'] } }), allowing], null, question())).toMatchObject({
      allowed: true,
      grantId: allowing.grantId,
      groups: ['fairlead:view'],
    });
  });

  it('names the grant that denies', () => {
    const denying = rule({ effect: 'deny', groups: [], narrowing: { resources: ['pods'] } });
    expect(explain([rule(), denying], null, question())).toMatchObject({ allowed: false, grantId: denying.grantId });
  });

  it('says so where there is no grant', () => {
    expect(explain([], null, question())).toMatchObject({ allowed: false, grantId: null, groups: [] });
  });

  it('holds what runs something to be no reading', () => {
    const reading = rule({ narrowing: { verbs: ['get', 'list', 'watch'] } });
    expect(explain([reading], null, question({ resource: 'pods/log' })).allowed).toBe(true);
    expect(explain([reading], null, question({ resource: 'pods/exec' })).allowed).toBe(false);
  });

  it.each([
    ['shop', 'the cluster shop is locked down: broken into'],
    [null, 'all clusters are locked down: broken into'],
  ])('of a lockdown (%s) says that', (cluster, because) => {
    const lockdown = { cluster, reason: 'broken into' };
    expect(explain([rule()], lockdown, question())).toEqual({ allowed: false, grantId: null, groups: [], because });
  });
});

describe('explainTarget', () => {
  const grant = { id: crypto.randomUUID(), effect: 'allow', targets: ['10.0.0.0/8:9100'] } as unknown as Grant;
  const ask = (resource: string, lockdown: Parameters<typeof explainTarget>[1] = null) =>
    explainTarget([grant], lockdown, question({ verb: 'connect', resource }));

  it('names the grant that holds a target, and why none does', () => {
    expect(ask('10.1.2.3:9100')).toMatchObject({ allowed: true, grantId: grant.id, groups: [] });
    expect(ask('10.1.2.3:22')).toMatchObject({ allowed: false, grantId: null, because: 'no grant holds this target' });
    expect(ask('10.1.2.3:9100', { cluster: null, reason: 'fire' })).toMatchObject({
      allowed: false,
      because: expect.stringContaining('fire') as string,
    });
    expect(() => ask('pods')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});
