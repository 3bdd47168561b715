import { afterAll, beforeAll, describe } from 'vitest';
import { faultContract } from './contract-faults.js';
import { keyContract } from './contract-keys.js';
import { repositoryContract } from './contract-repositories.js';
import type { HostUnderTest } from './host-under-test.js';

/** What every driver does, whatever the host; run against the host itself where it can be run, else against its documented API. */
export function gitHostContract(name: string, start: () => Promise<HostUnderTest>): void {
  describe(`${name}: the contract of Git hosts`, () => {
    let running: HostUnderTest | undefined;
    const under = (): HostUnderTest => running!;
    beforeAll(async () => {
      running = await start();
    });
    afterAll(() => running?.[Symbol.asyncDispose]());

    describe('repositories and rights', () => {
      repositoryContract(under);
    });
    describe('deploy keys', () => {
      keyContract(under);
    });
    describe('a host that fails or is hostile', () => {
      faultContract(under);
    });
  });
}
