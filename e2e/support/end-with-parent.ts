// Preloaded into Node processes that tests start (node --import): when the one who started them is gone, however that
// happened, the IPC channel closes and they end.
const GRACE_MS = 3_000;

process.on('disconnect', () => {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
  process.kill(process.pid, 'SIGTERM');
});
// The channel alone must not keep a process alive that has nothing left to do.
process.channel?.unref();
