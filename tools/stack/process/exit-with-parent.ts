// Preloaded into our own processes (node --import): when the process that started them is gone, however that happened,
// the IPC channel closes, and they end as if they were asked to.
const GRACE_MS = 5_000;

process.on('disconnect', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
  process.kill(process.pid, 'SIGTERM');
});
// The channel alone must not keep a process alive that has nothing left to do.
process.channel?.unref();
