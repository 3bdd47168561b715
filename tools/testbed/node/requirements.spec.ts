import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../fixtures/temporary.js';
import { missingPackages, requireNodePrograms } from './requirements.js';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const nothing = (): void => undefined;

describe('what a real node needs', () => {
  it('is named by Debian package, each once', async () => {
    await using empty = await temporaryDirectory();
    vi.stubEnv('PATH', empty.path);
    const wanted = ['busybox-static', 'containerd', 'iproute2', 'iptables', 'mount', 'runc', 'util-linux'];
    const found = await missingPackages();
    expect(found.filter((name) => name !== 'containernetworking-plugins')).toEqual(wanted);
  });

  it('is asked for where it is missing and cannot be installed', async () => {
    await using empty = await temporaryDirectory();
    vi.stubEnv('PATH', empty.path);
    vi.spyOn(process, 'platform', 'get').mockReturnValue('linux');
    vi.spyOn(process, 'getuid').mockReturnValue(0);
    await expect(requireNodePrograms(nothing)).rejects.toThrow(
      /needs Debian's busybox-static, containerd.*apt-get install --no-install-recommends busybox-static containerd.*there is no apt-get here/u,
    );
  });

  it('is root on Linux', async () => {
    const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('darwin');
    await expect(requireNodePrograms(nothing)).rejects.toThrow('a real node needs Linux');
    platform.mockReturnValue('linux');
    vi.spyOn(process, 'getuid').mockReturnValue(1000);
    await expect(requireNodePrograms(nothing)).rejects.toThrow('a real node needs root');
  });
});
