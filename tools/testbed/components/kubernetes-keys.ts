/** The keys and certificates of a test cluster by themselves: for `apps/demo`, which starts none. */
export { ensurePki } from './kubernetes-pki.js';
export { kubeconfigFor } from './kubeconfig.js';
