/**
 * Git hosts behind one port: what a token may do, repositories, and deploy keys that may only read. See README.md for the least
 * rights on each host.
 */
export type {
  ByHand,
  Call,
  DeployKey,
  GitHost,
  GitHostKind,
  NewDeployKey,
  RecordedKey,
  Repository,
  RightFinding,
  RightsReport,
  RightsSpec,
  Unknown,
} from './git-host.js';
export { openGitHost, type ApiHostOptions, type ManualHostOptions } from './open-git-host.js';
export { DEFAULT_LIMITS, type Limits } from './limits.js';
export { parseRepositoryPath, repositoryText, type RepositoryPath } from './repository-path.js';
export { parseSshPublicKey, type SshPublicKey } from './ssh-public-key.js';
