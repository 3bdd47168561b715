import { createCsr, generatePrivateKey } from '@fairlead/pki';
import type { Stack } from '@fairlead/stack';
import { connectLink } from '../../support/link-client.js';
import { runAll } from '../../support/pool.js';

/** One address that asks for all it is worth, and many that stay below what is allowed to one. */
const LOUD_REQUESTS = 500;
const QUIET_REQUESTS = 20;
const CONNECTIONS_AT_ONCE = 6;
const CALLS_AT_ONCE = 5;

export function floodOf(quietAddresses: number): number {
  return LOUD_REQUESTS + quietAddresses * QUIET_REQUESTS;
}

/** What the unauthenticated were answered: how often each code came, and every sentence, without the fingerprint of their own key. */
export class Answers {
  readonly codes: Record<string, number> = {};
  readonly sentences = new Set<string>();
  count = 0;

  add({ code, message }: { readonly code: string; readonly message: string }): void {
    this.count += 1;
    this.codes[code] = (this.codes[code] ?? 0) + 1;
    this.sentences.add(message.replace(/\b[0-9a-f]{64}\b/, 'KEY'));
  }
}

/** Agents without a token ask to be adopted, from one loud address and `quietAddresses` others. Loopback only. */
export async function flood(stack: Stack, quietAddresses: number, answers: Answers): Promise<void> {
  const links = stack.gateways.map(({ linkAddress }) => linkAddress);
  await ask(links[0] ?? '', '127.9.0.1', LOUD_REQUESTS, answers);
  await runAll(quietAddresses, CONNECTIONS_AT_ONCE, (index) => {
    const address = `127.10.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    return ask(links[index % links.length] ?? '', address, QUIET_REQUESTS, answers);
  });
}

/** Many agents, each with a key of its own and without a token, from one address. */
async function ask(gateway: string, address: string, requests: number, answers: Answers): Promise<void> {
  using client = await connectLink(gateway, { localAddress: address });
  await runAll(requests, CALLS_AT_ONCE, async () => {
    const csrDer = await createCsr(await generatePrivateKey());
    const answer = await client.enrol({ tokenId: '', secret: new Uint8Array(), csrDer });
    answers.add('code' in answer ? answer : { code: 'OK', message: 'a certificate' });
  });
}
