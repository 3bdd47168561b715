import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS, type Stack } from '@fairlead/stack';
import { z } from 'zod';
import { BenchError } from '../process/bench-error.js';
import { Conversation } from '../process/conversation.js';
import { readInvitation, type Invitation } from './invitation.js';
import type { IdleAgents } from './system.js';

/** Compiled only: the benchmark runs from `dist`. */
const PROGRAM = fileURLToPath(new URL('idle-agents-program.js', import.meta.url));
const REQUEST_TIMEOUT_MS = 20_000;
const LINK_TIMEOUT_MS = 180_000;
/** The API lets an address redeem 60 links at once. On Linux every address of 127.0.0.0/8 is this machine's. */
const PER_ADDRESS = 50;
const AT_ONCE = 4;

const ImportLink = z.object({ url: z.string() });
const Linked = z.object({ linked: z.number() });

/** That many clusters, each with an agent of its own that has enrolled for real, all in one process. */
export async function startIdleAgents(
  stack: Stack,
  endpoint: string,
  count: number,
  dir: string,
  owned: AsyncDisposableStack,
): Promise<IdleAgents> {
  const invitations = await inviteMany(stack, count);
  const command = [process.execPath, ...NODE_FLAGS, PROGRAM] as const;
  const program = owned.use(new Conversation({ name: 'idle agents', command, logPath: join(dir, 'idle-agents.log') }));
  await program.start();
  const pins = invitations[0]?.pins.split(',') ?? [];
  program.say(JSON.stringify({ endpoint, pins, tokens: invitations.map(({ token }) => token) }));
  const ask = async (line: string): Promise<void> => {
    program.say(line);
    Linked.parse(JSON.parse(await program.answer(LINK_TIMEOUT_MS)));
  };
  return { link: () => ask('link'), unlink: () => ask('unlink') };
}

async function inviteMany(stack: Stack, count: number): Promise<Invitation[]> {
  const ca = await readFile(stack.api.caFile, 'utf8');
  const token = (await readFile(stack.api.adminTokenFile, 'utf8')).trim();
  const invitations: Invitation[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) {
      const ask = asker({ url: stack.api.url, ca, token, from: `127.0.1.${1 + Math.floor(number / PER_ADDRESS)}` });
      const name = `idle-${number}`;
      await ask('POST', '/v1/clusters', { name, labels: {}, links: 1 });
      const { url } = ImportLink.parse(JSON.parse(await ask('POST', `/v1/clusters/${name}/import-links`)));
      invitations.push(readInvitation(await ask('GET', new URL(url).pathname)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return invitations;
}

interface Api {
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  /** The address it is asked from. */
  readonly from: string;
}

type Ask = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<string>;

function asker({ url, ca, token, from }: Api): Ask {
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const options = { method, ca, headers, localAddress: from, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) };
      const asking = request(new URL(path, url), options, (answer) => {
        const read = text(answer).then((said) => {
          if ((answer.statusCode ?? 500) < 300) return said;
          throw new BenchError(`the API answered ${answer.statusCode}: ${said.slice(0, 300)}`);
        });
        resolve(read);
      });
      asking.once('error', reject);
      asking.end(body === undefined ? '' : JSON.stringify(body));
    });
}
