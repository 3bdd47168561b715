// One hop of a plain TCP relay in Node: it copies bytes both ways and looks at none of them. `relay-node.js HOST:PORT`
// prints one line of JSON, {"address"}, when it listens on a free port of 127.0.0.1, and ends when its input does.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import '../process/end-with-parent.js';

const target = new URL(`tcp://${process.argv[2] ?? ''}`);

const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const upstream = connect({
    host: target.hostname,
    port: Number(target.port),
    allowHalfOpen: true,
    noDelay: true,
  });
  carry(client, upstream);
  carry(upstream, client);
});
server.listen(0, '127.0.0.1', () => {
  const { address, port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ address: `${address}:${port}` })}\n`);
});

/** Passes on one direction, its end, and its failure. */
function carry(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => void to.destroy());
}
