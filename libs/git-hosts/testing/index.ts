/** For tests of those who use Git hosts. */
export { answering, type Front } from './front.js';
export { newPublicKey } from './keys.js';
export { startRealGitea, type GiteaUnderTest } from './start-gitea.js';
