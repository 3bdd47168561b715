/** A wall that drops packets says nothing. By then TCP has asked twice. */
const DROPPED_MS = 3_000;
/** A program for `node -e` that prints what a TCP connection to each of these hosts comes to, in their order, with blanks between them. */
export function tcpProbe(hosts: readonly string[], port: number): string {
  return `const { connect } = require('node:net');
    const tries = ${JSON.stringify(hosts)}.map((host) => new Promise((told) => {
      connect({ host, port: ${port} }).on('connect', () => told('open')).on('error', (error) => told(error.code));
      setTimeout(told, ${DROPPED_MS}, 'dropped');
    }));
    Promise.all(tries).then((all) => { console.log(all.join(' ')); process.exit(); });`;
}

/**
 * Which of the hosts are open, by what `tcpProbe` printed. `closed`: what the others may have come to. Throws for anything else: a name that nobody knows
 * says nothing of a wall, nor does a host that was not asked.
 */
export function openOf(hosts: readonly string[], printed: string, closed: readonly string[]): readonly string[] {
  const said = printed.trim().split(' ');
  const isKnown = hosts.length > 0 && hosts.every(Boolean) && said.length === hosts.length;
  if (!isKnown || said.some((each) => each !== 'open' && !closed.includes(each)))
    throw new Error(`TCP connections to ${hosts.join(' ')}: ${printed}`);
  return hosts.filter((_, index) => said[index] === 'open');
}
