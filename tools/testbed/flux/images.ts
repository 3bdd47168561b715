import { findBinary, type FindOptions } from '../binaries/find-binary.js';
import type { Images } from '../components/contract.js';
import { fluxImage } from './pins.js';

/**
 * The two controllers of the install manifest, for a test kubelet. Each listens on its pod's address; artifacts are advertised
 * there too, as there are neither names nor services; and there is no election, so that a controller which was killed does not
 * hold up the next one.
 */
export async function fluxImages(options: FindOptions = {}): Promise<Images> {
  const source = await findBinary('flux-source-controller', options);
  const kustomize = await findBinary('flux-kustomize-controller', options);
  const appendArgs = [
    '--metrics-addr=$(POD_IP):8080',
    '--health-addr=$(POD_IP):9440',
    '--enable-leader-election=false',
    '--events-addr=',
  ];
  return {
    [fluxImage('source-controller')]: {
      program: [source.path],
      appendArgs: [...appendArgs, '--storage-addr=$(POD_IP):9090', '--storage-adv-addr=$(POD_IP):9090'],
    },
    [fluxImage('kustomize-controller')]: { program: [kustomize.path], appendArgs },
  };
}
