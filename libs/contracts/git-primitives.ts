import { z } from 'zod';

/** `org/catalog`, `group/subgroup/catalog`. */
export const RepositoryPath = z
  .string()
  .max(512)
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}(\/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}){1,20}$/,
    'a repository is OWNER/NAME, such as platform/catalog',
  );

/** `ssh-ed25519 AAAA…`, without a comment. */
export const SshPublicKey = z
  .string()
  .regex(/^ssh-ed25519 [A-Za-z0-9+/]{68}={0,2}$/, 'expected an ssh-ed25519 public key');

/** A host's key, `TYPE BASE64`. */
export const HostPublicKey = z
  .string()
  .max(2_200)
  .regex(/^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]{40,2048}={0,2}$/, 'expected TYPE BASE64');

/** A branch, as git-check-ref-format(1) wants it, without the rarest characters. */
export const BranchName = z
  .string()
  .regex(/^(?![-/.])(?!.*(\.\.|\/\/|@\{|\.lock(\/|$)))[A-Za-z0-9._/-]{1,200}(?<![/.])$/, 'that is no branch name');
