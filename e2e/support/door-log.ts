import { readFile } from 'node:fs/promises';
import type { Stack } from '@fairlead/stack';

/** What a gateway logs of a connection through its CONNECT door when it ends. */
export interface ClosedConnection {
  readonly client: string;
  readonly target: string;
  readonly via: 'own' | 'relay';
  readonly bytesUp: number;
  readonly bytesDown: number;
}

/** Every connection of a client that has ended at this replica so far, oldest first. */
export async function connectionsOf(stack: Stack, gateway: string, client: string): Promise<ClosedConnection[]> {
  const text = await readFile(stack.process(gateway).logPath, 'utf8');
  return text
    .split('\n')
    .filter((line) => line.includes('"connect.closed"'))
    .map((line) => JSON.parse(line) as ClosedConnection)
    .filter((connection) => connection.client === client);
}
