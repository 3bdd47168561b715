import { SERVICE_NAMES, type Role } from '@fairlead/contracts';
import type { EventType } from './events.js';

/** What the public page says of a type of event besides its fields. */
interface About {
  /** Who tells it: the role in its subject. Several: whichever of them it happened to. */
  readonly owners: readonly Role[];
  /** One sentence for somebody who never saw the code. */
  readonly means: string;
}

function told(by: Role, means: string): About {
  return { owners: [by], means };
}

/** Every type has a row here: the compiler asks for it. */
export const ABOUT_EVENTS: Readonly<Record<EventType, About>> = {
  'dev.fairlead.access.refused.v1': told('gateway', 'A door, a link or the relay turned somebody away.'),
  'dev.fairlead.access-request.approved.v1': told(
    'access',
    'Somebody approved a request for access; a grant was made of it.',
  ),
  'dev.fairlead.access-request.created.v1': told('access', 'Somebody asks for access for a time.'),
  'dev.fairlead.access-request.lapsed.v1': told('access', 'Nobody decided about a request for access in time.'),
  'dev.fairlead.access-request.rejected.v1': told('access', 'Somebody rejected a request for access.'),
  'dev.fairlead.administrator.used.v1': told('gateway', "The administrator's token, which needs no grant, was used."),
  'dev.fairlead.agent.connected.v1': told('gateway', 'An agent linked to this replica.'),
  'dev.fairlead.agent.disconnected.v1': told('gateway', 'A link of an agent ended.'),
  'dev.fairlead.agent.duplicated.v1': told(
    'registration',
    'Several processes that are not the pods of one agent are linked with the identity of one cluster.',
  ),
  'dev.fairlead.agent.refused.v1': told('gateway', 'A link of an agent was refused.'),
  'dev.fairlead.api-token.created.v1': told('access', 'An API token was made.'),
  'dev.fairlead.api-token.revoked.v1': told('access', 'An API token was revoked.'),
  'dev.fairlead.approval-policy.changed.v1': told(
    'registration',
    'Who approves agents that enrol was changed, of a cluster or of all.',
  ),
  'dev.fairlead.assignment.put.v1': told('gitops', 'An assignment of a GitOps tool was made or changed.'),
  'dev.fairlead.assignment.removed.v1': told('gitops', 'An assignment of a GitOps tool was removed.'),
  'dev.fairlead.audit-log.begun-anew.v1': told(
    'keys',
    'The audit log of a tenant could not go on from what was signed of it, and begins anew.',
  ),
  'dev.fairlead.breaker.changed.v1': told('gitops', 'The breaker opened and holds all rollouts, or closed again.'),
  'dev.fairlead.bundle.imported.v1': told('gitops', 'A bundle of a GitOps tool was imported.'),
  'dev.fairlead.bundle.removed.v1': told('gitops', 'A bundle of a GitOps tool was removed.'),
  'dev.fairlead.ca.aborted.v1': told('keys', 'A root that had been prepared was taken back.'),
  'dev.fairlead.ca.activated.v1': told('keys', 'Identities are certified below the new root from now on.'),
  'dev.fairlead.ca.created.v1': told('keys', 'The certificate authority was made.'),
  'dev.fairlead.ca.issuing-replaced.v1': told('keys', 'An issuing certificate below a root was replaced.'),
  'dev.fairlead.ca.prepared.v1': told('keys', 'A root that will be the next one was made known.'),
  'dev.fairlead.ca.retired.v1': told('keys', 'An old root counts no more.'),
  'dev.fairlead.ca.serving-rotated.v1': told('keys', 'A step of the rotation of the root that people’s tools see.'),
  'dev.fairlead.ca.trust-raised.v1': told('keys', 'The same roots have a higher version of the trust bundle.'),
  'dev.fairlead.catalog-repository.added.v1': told('gitops', 'A repository that clusters can follow was added.'),
  'dev.fairlead.catalog-repository.changed.v1': told('gitops', 'A repository that clusters can follow was changed.'),
  'dev.fairlead.catalog-repository.removed.v1': told('gitops', 'A repository that clusters could follow was removed.'),
  'dev.fairlead.certificate.issued.v1': told('keys', 'A certificate was signed.'),
  'dev.fairlead.certificate.refused.v1': told('keys', 'A certificate was refused.'),
  'dev.fairlead.certificate.revoked.v1': told('keys', 'A certificate was revoked.'),
  'dev.fairlead.client.certified.v1': told('registration', 'A client of the CONNECT door got a certificate.'),
  'dev.fairlead.client.created.v1': told('registration', 'A client of the CONNECT door was registered.'),
  'dev.fairlead.client.deleted.v1': told('registration', 'A client of the CONNECT door was deleted.'),
  'dev.fairlead.cluster.changed.v1': told(
    'registration',
    'The labels of a cluster, or what its import manifest says, were changed.',
  ),
  'dev.fairlead.cluster.created.v1': told('registration', 'A cluster was registered.'),
  'dev.fairlead.cluster.deleted.v1': told('registration', 'A cluster was deleted.'),
  'dev.fairlead.cluster.facts-changed.v1': told(
    'registration',
    'The agent of a cluster says something else of it than before.',
  ),
  'dev.fairlead.cluster.revoked.v1': told(
    'registration',
    'Every certificate of a cluster’s enrolments so far was revoked.',
  ),
  'dev.fairlead.deploy-key.added.v1': told('keys', 'The key of a cluster was put into a repository.'),
  'dev.fairlead.deploy-key.refused.v1': told('keys', 'A Git host does not take the key of a cluster.'),
  'dev.fairlead.deploy-key.removed.v1': told('keys', 'The key of a cluster was taken out of a repository.'),
  'dev.fairlead.deploy-key.restored.v1': told(
    'keys',
    'The key of a cluster was gone from a repository and was put back.',
  ),
  'dev.fairlead.deploy-key.rotated.v1': told('gitops', 'A step of the rotation of a cluster’s key.'),
  'dev.fairlead.desired-state.changed.v1': told(
    'gitops',
    'The installer of a cluster is to do something else from now on.',
  ),
  'dev.fairlead.endpoints.changed.v1': told('keys', 'Agents are told other addresses of gateways.'),
  'dev.fairlead.enrolment.approved.v1': told('registration', 'An agent that waited may enrol.'),
  'dev.fairlead.enrolment.refused.v1': told('registration', 'The enrolment of an agent was refused.'),
  'dev.fairlead.enrolment.rejected.v1': told('registration', 'An agent that waited may not enrol.'),
  'dev.fairlead.enrolment.requested.v1': told('registration', 'An agent waits for an administrator.'),
  'dev.fairlead.enrolment.succeeded.v1': told('registration', 'An agent enrolled.'),
  'dev.fairlead.git-host.configured.v1': told('keys', 'A Git host was configured.'),
  'dev.fairlead.git-host.deleted.v1': told('keys', 'A Git host was deleted.'),
  'dev.fairlead.git-host.failing.v1': told('keys', 'A Git host cannot be worked with until somebody does something.'),
  'dev.fairlead.git-host.key-changed.v1': told('keys', 'A Git host shows an SSH key that nobody approved.'),
  'dev.fairlead.git-host.keys-approved.v1': told('keys', 'Somebody decided which SSH keys of a Git host count.'),
  'dev.fairlead.git-host.recovered.v1': told('keys', 'A Git host can be worked with again.'),
  'dev.fairlead.git-host.token-expiring.v1': told('keys', 'The token of a Git host ends soon.'),
  'dev.fairlead.gitops.phase-changed.v1': told('gitops', 'The installer of a cluster got further, or has a problem.'),
  'dev.fairlead.grant.created.v1': told('access', 'Somebody was given access, or was denied it.'),
  'dev.fairlead.grant.deleted.v1': told('access', 'Somebody ended a grant.'),
  'dev.fairlead.grant.lapsed.v1': told('access', 'The time of a grant was over.'),
  'dev.fairlead.import-link.created.v1': told('registration', 'A link that gives an import manifest once was made.'),
  'dev.fairlead.import-link.redeemed.v1': told('registration', 'An import manifest was fetched.'),
  'dev.fairlead.import-link.refused.v1': told('registration', 'An import link was not honoured.'),
  'dev.fairlead.issuer.changed.v1': told('access', 'An issuer of logins was added or changed.'),
  'dev.fairlead.issuer.removed.v1': told('access', 'An issuer of logins was removed.'),
  'dev.fairlead.lockdown.begun.v1': told(
    'access',
    'Nobody but the administrator gets through doors, to a cluster or at all.',
  ),
  'dev.fairlead.lockdown.lifted.v1': told('access', 'A lockdown was lifted.'),
  'dev.fairlead.login.ended.v1': told('access', 'Somebody logged out.'),
  'dev.fairlead.login.refused.v1': told('access', 'A login was refused.'),
  'dev.fairlead.login.succeeded.v1': told('access', 'Somebody logged in, or renewed a login.'),
  'dev.fairlead.master-key.rewrapped.v1': told(
    'keys',
    'Everything that keys keeps sealed is under this master key now.',
  ),
  'dev.fairlead.rollout.changed.v1': told('gitops', 'A rollout got further, or stopped.'),
  'dev.fairlead.rpc.refused.v1': {
    owners: SERVICE_NAMES,
    means:
      'A message on NATS named somebody who may not send it: it was forged, or a process has the wrong credential.',
  },
  'dev.fairlead.stream.ended.v1': told(
    'gateway',
    'A stream into a pod or a Service is over: exec, attach, port-forward, or an upgrade by proxy.',
  ),
  'dev.fairlead.stream.opened.v1': told(
    'gateway',
    'Somebody was let in to a pod or a Service: exec, attach, port-forward, or an upgrade by proxy.',
  ),
  'dev.fairlead.stream.refused.v1': told(
    'gateway',
    'A stream into a pod or a Service was refused, by us or by the cluster.',
  ),
  'dev.fairlead.subscriber.created.v1': told('audit', 'Somebody outside is told of events from now on.'),
  'dev.fairlead.subscriber.disabled.v1': told('audit', 'A webhook is delivered to no more until it is enabled.'),
  'dev.fairlead.subscriber.enabled.v1': told('audit', 'A webhook is delivered to again, from where it stood.'),
  'dev.fairlead.subscriber.redelivered.v1': told(
    'audit',
    'Messages to a webhook that were given up are delivered after all.',
  ),
  'dev.fairlead.subscriber.removed.v1': told('audit', 'A subscriber is told of events no more.'),
  'dev.fairlead.subscriber.replayed.v1': told('audit', 'A subscriber is told again of what it was told before.'),
  'dev.fairlead.subscriber.rotated.v1': told(
    'audit',
    'A subscriber has another secret; the one before counts no more.',
  ),
  'dev.fairlead.tenant.changed.v1': told('registration', 'The quotas of a tenant were changed.'),
  'dev.fairlead.tenant.created.v1': told('registration', 'A tenant was made.'),
  'dev.fairlead.tenant.deleted.v1': told('registration', 'A tenant was deleted; its name is not used again.'),
  'dev.fairlead.token.minted.v1': told('registration', 'A bootstrap token was made.'),
  'dev.fairlead.token.revoked.v1': told('registration', 'A bootstrap token was revoked.'),
};
