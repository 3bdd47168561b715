/** This machine in the words of Go and of the releases: `linux-amd64`. */
export function platform(): { os: string; arch: string; key: string } {
  const os = process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return { os, arch, key: `${os}-${arch}` };
}
