// One hop of a plain TCP relay in Node: it copies bytes both ways and looks at none of them. `relay-node.js LISTEN TARGET`,
// both host:port, prints one line of JSON, {"address"}, when it listens, and ends when its input does.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import '../process/end-with-parent.js';

const [listen, target] = process.argv.slice(2).map((each) => new URL(`tcp://${each}`)) as [URL, URL];

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
server.listen(Number(listen.port), listen.hostname, () => {
  const { address, port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ address: `${address}:${port}` })}\n`);
});

/** Passes on one direction, its end, and its failure. */
function carry(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => void to.destroy());
}
