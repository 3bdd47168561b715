/** For tests of those who use Git hosts. */
export { answering, type Front } from './front.js';
export { commitFile, ensureCatalog, ensureCollaborator, exists } from './gitea-catalog.js';
export { giteaClient, type GiteaClient } from './gitea-client.js';
export { newPublicKey } from './keys.js';
export { startRealGitea, type GiteaUnderTest } from './start-gitea.js';
