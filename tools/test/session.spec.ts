import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Session } from './session.js';

let session: Session;
beforeEach(() => {
  session = Session.create();
});
afterEach(() => session.remove());

it('says which components are here, and that nothing more comes', () => {
  expect(session.areReady([])).toBe(true);
  expect(session.areReady(['etcd'])).toBe(false);
  session.setReady('etcd');
  expect(session.areReady(['etcd'])).toBe(true);
  expect(session.areReady(['etcd', 'kubectl'])).toBe(false);
  session.setNothingMore();
  expect(session.areReady(['etcd', 'kubectl'])).toBe(true);
});

it('keeps what each file asked for apart', () => {
  const [first] = Object.values(session.environmentOf(1));
  session.environmentOf(2);
  writeFileSync(join(first!, 'etcd'), '');
  expect(session.componentsOf(1)).toEqual(['etcd']);
  expect(session.componentsOf(2)).toEqual([]);
});

it('holds lines of text of any kind', () => {
  expect(session.errors()).toEqual([]);
  session.addError('one\ntwo');
  expect(session.errors()).toEqual(['one\ntwo']);
});
