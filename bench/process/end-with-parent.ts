// Loaded into the Node processes of the benchmark: when standard input closes, whoever started them is gone, and they end.
const GRACE_MS = 3_000;

process.stdin.once('close', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
  process.kill(process.pid, 'SIGTERM');
});
process.stdin.resume();
