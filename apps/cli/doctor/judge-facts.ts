import { distributionText } from '../output/cluster-view.js';
import { REMEDIES, found, warned, type Finding, type KnownFacts } from './finding.js';

/** Does the agent say what there is to know of its cluster, and may it do there what people want of it? */
export function judgeFacts({ cluster: { name, enrolledAt, facts, presence } }: KnownFacts): Finding[] {
  if (enrolledAt === null || facts === null || presence.agents.length === 0) return [];
  const { capabilities, nodes, kubernetesVersion } = facts;
  const again = `for all of its rights: ${REMEDIES.newManifest(name)}`;
  if (!capabilities.includes('link:facts')) {
    const detail = 'its agent says versions only: it is too old to count nodes';
    return [warned('facts', name, detail, `update the agent: ${REMEDIES.newManifest(name)}`)];
  }
  const missing = ['rbac:impersonate-users', 'rbac:impersonate-admins'].filter((each) => !capabilities.includes(each));
  const findings = missing.map((each) =>
    warned(
      'facts',
      name,
      `the agent does not find that it may ${each.slice('rbac:'.length)}: requests will fail`,
      again,
    ),
  );
  if (!capabilities.includes('rbac:impersonate-roles')) {
    const detail =
      'the agent may not impersonate the groups of grants (fairlead:view and so on): people with a grant are refused';
    findings.push(warned('facts', name, detail, `apply the import manifest again: ${REMEDIES.newManifest(name)}`));
  }
  const what = `Kubernetes ${kubernetesVersion} ${distributionText(facts)}`.trim();
  if (!capabilities.includes('rbac:list-nodes')) {
    const detail = `${what}; its nodes are not known, because the agent may not list them`;
    return [...findings, warned('facts', name, detail, again)];
  }
  if (nodes === null) return [...findings, found('facts', name, `${what}; its nodes could not be counted yet`)];
  const { total, ready } = nodes;
  const detail = `${what}; ${ready} of ${total} nodes are ready`;
  if (ready === total) return [...findings, found('facts', name, detail)];
  return [...findings, warned('facts', name, detail, 'in the cluster: kubectl get nodes')];
}
