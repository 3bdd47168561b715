import { CLUSTER_SERVICE, type Assignment, type GitHostEntry } from '@fairlead/contracts';

/** Why `keys` would not sign that a Git host is dialled so; null: it does. */
export function whyNotThrough(
  gitThrough: Assignment['gitThrough'],
  { name, sshHost }: Pick<GitHostEntry, 'name' | 'sshHost'>,
): string | null {
  const host = gitThrough?.slice(0, gitThrough.lastIndexOf(':'));
  if (host === undefined || host === sshHost || CLUSTER_SERVICE.test(host)) return null;
  return (
    `the Git host ${name} cannot be dialled through ${host}: write ${sshHost} with another port, or a Service of the cluster, ` +
    'NAME.NAMESPACE.svc:PORT'
  );
}
