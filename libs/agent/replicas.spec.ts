import { expect, it } from 'vitest';
import { Replicas } from './replicas.js';

it('says once that there are more, and nothing of fewer or of a gateway that does not say', () => {
  const replicas = new Replicas();
  replicas.heard(2);
  const { more } = replicas;
  replicas.heard(0);
  replicas.heard(2);
  replicas.heard(1);
  expect(more.aborted).toBe(false);
  replicas.heard(2);
  expect(more.aborted).toBe(true);
  expect(replicas.more.aborted).toBe(false);
});
