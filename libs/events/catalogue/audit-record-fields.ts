import { DoorName } from '@fairlead/contracts';

/** What the public page says of a field. `kubernetes`: what audit.k8s.io/v1 calls it. */
export interface AboutField {
  readonly means: string;
  readonly kubernetes?: string;
}

const about = (means: string, kubernetes?: string): AboutField =>
  kubernetes === undefined ? { means } : { means, kubernetes };

/** Source: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/ */
const PASSAGE: Readonly<Record<string, AboutField>> = {
  phase: about(
    '`intent`: about to be let go on, and on disk before it is. `outcome`: over, whether or not it was let go on.',
    '`stage`: `RequestReceived`, `ResponseComplete`',
  ),
  id: about(
    'Of the passage: an intent and its outcome share it. The door answers it as `Audit-Id`.',
    '`auditID`, the same as in the kube-apiserver’s own log',
  ),
  at: about('When it began. It was over `durationMs` later.', '`requestReceivedTimestamp`'),
  tenantId: about('`_`: nobody had proved to be of any.'),
  door: about(`One of ${DoorName.options.map((door) => `\`${door}\``).join(', ')}.`),
  kind: about(
    'As people tell it apart, also of what was refused; `proxy`: by a subresource of this name, or another upgrade.',
  ),
  address: about('Where who asked came from; of a way out of a cluster, its agent.', '`sourceIPs[0]`'),
  traceId: about('Of W3C Trace Context: as the caller said, or made here.'),
  ingress: about('Credential of the replica that it came to.'),
  owner: about('Of the replica that holds the agent’s link; null: nobody was reached.'),
  session: about(
    'Of the agent’s link; where another replica holds it, the only one known of there. Empty: there were several, or nobody was reached.',
  ),
  clusterId: about('Null: it was let in to none.'),
  cluster: about('Its name as it was asked for, whether or not there is one.'),
  identity: about('Null: nobody had proved who asks.', '`user`'),
  'identity.kind': about('`agent`: of a way out of a cluster.'),
  'identity.name': about('User, client, or cluster.', '`user.username`'),
  'identity.groups': about('That their issuer or an administrator says they are in.', '`user.groups`'),
  'identity.groupsCut': about('They were more, or longer.'),
  'identity.session': about('Of a person’s login, which its tokens share; empty: it is none.'),
  'identity.proof': about('By what they proved it.'),
  'identity.proof.kind': about('What that is.'),
  'identity.proof.id': about(
    'Id of the token or serial number of the certificate: never either itself.',
    '`user.extra["authentication.kubernetes.io/credential-id"]`',
  ),
  'identity.proof.of': about('Of a token: what sort. Empty of a certificate.'),
  as: about(
    'The user that the cluster sees, if it is not who asks (`kubectl --as`); empty: it is.',
    '`impersonatedUser.username`',
  ),
  asGroups: about('The groups that go with `as` (`kubectl --as-group`).', '`impersonatedUser.groups`'),
  asGroupsCut: about('They were more.'),
  grantIds: about(
    'What the decision stands on: grants that allow, or one that denies. None: the administrator’s token, or nothing is granted.',
    '`annotations["authorization.k8s.io/reason"]`',
  ),
  grantIdsCut: about('They were more.'),
  method: about('Of HTTP; `EGRESS` of what comes out of a cluster.'),
  requestUri: about(
    'Path and query below the cluster’s host. Of parameters that are none of Kubernetes’, the value is left out. Cut.',
    '`requestURI`',
  ),
  userAgent: about('As it calls itself.', '`userAgent`'),
  resource: about(
    'What was asked of the Kubernetes API; null: something else was asked for, or it cannot be read.',
    '`objectRef`',
  ),
  'resource.verb': about(
    'Of Kubernetes, as it was decided about: of exec, attach, port-forward and proxy `create`, where a kube-apiserver has `get` for a GET.',
    '`verb`',
  ),
  'resource.apiGroup': about('Empty: the core group.', '`objectRef.apiGroup`'),
  'resource.resource': about('In the plural.', '`objectRef.resource`'),
  'resource.subresource': about('Empty: none.', '`objectRef.subresource`'),
  'resource.namespace': about('Empty: none, or all.', '`objectRef.namespace`'),
  'resource.name': about('Empty: none, as of `list` and `create`.', '`objectRef.name`'),
  url: about('Of a request that names no resource; null: it is none.'),
  'url.verb': about('The method, in lower case.', '`verb`'),
  'url.path': about('Without its query.', '`requestURI`'),
  target: about('`host:port` of a tunnel or a way out; empty: none.'),
  stream: about('Of exec, attach, port-forward and other upgrades; null: it is none.'),
  'stream.protocol': about('That both ends switch to.'),
  'stream.container': about('Empty: the first one.'),
  'stream.command': about('Of exec, argument by argument: what somebody typed there may hold a secret of theirs.'),
  'stream.commandCut': about('It was longer.'),
  'stream.stdin': about('They could type.'),
  'stream.tty': about('As at a terminal.'),
  decision: about(
    'Of the gateway. What it allowed may still be refused beyond it: `status` says so.',
    '`annotations["authorization.k8s.io/decision"]`: `allow`, `forbid`',
  ),
  status: about(
    'Of HTTP, as who asked saw it; 0 of an intent, and where nobody was answered.',
    '`responseStatus.code`',
  ),
  cause: about('`COMPLETE`, or the code of what refused or broke it; `OPEN` of an intent.'),
  bytesUp: about('Towards the target.'),
  bytesDown: about('And back.'),
  durationMs: about(
    'From the beginning until it was over; 0 of an intent.',
    '`stageTimestamp` − `requestReceivedTimestamp`',
  ),
};

const SPOOL = {
  producer: about('Credential of the gateway; of events, the stream that they are in.'),
  epoch: about('Of its spool: another one whenever that begins without what it had.'),
};
const RANGE = { from: about('The first number that was given there.'), to: about('The last one.') };

const LOST: Readonly<Record<string, AboutField>> = {
  phase: about('Always this.'),
  at: about('When it was counted.'),
  tenantId: about('Whose passages they were; `_`: nobody had proved to be of any.'),
  count: about('So many passages are on record by this number alone.'),
  what: about(
    '`records`: there was no room, and nobody knows of which tenants they were. `refusals`: there were too many, of one user or of the unauthenticated.',
  ),
  user: about('Whose refusals they were; empty: of the unauthenticated, or of nobody in particular.'),
  passages: about('Ids of passages that were lost when they were over: nobody tells any more how these ended.'),
  ...SPOOL,
  ...RANGE,
  why: about('A full disk, or more refusals of the unauthenticated than are kept one by one.'),
};

const RULES: Readonly<Record<string, AboutField>> = {
  phase: about('Always this.'),
  at: about('When.'),
  tenantId: about('Of all tenants.'),
  replica: about('Credential of the gateway.'),
  state: about('`refused`: there are new ones that cannot be read, and those before stay.'),
  hash: about('SHA-256 of the file.'),
  previousHash: about('Of those before; null: there were none.'),
  rules: about('How many; 0 of a file that cannot be read.'),
  why: about('It cannot be read; empty: it can.'),
};

const HANDSHAKES: Readonly<Record<string, AboutField>> = {
  phase: about('Always this.'),
  at: about('The first.'),
  until: about('The last.'),
  tenantId: about('Nobody had proved to be of any.'),
  door: about('They came to.'),
  cause: about('`CERTIFICATE_REFUSED`, or the code of TLS.'),
  count: about('How many, all of them.'),
  addresses: about('Those that came most.'),
  'addresses[].address': about('Where they came from.'),
  'addresses[].count': about('How many of them.'),
};

const GAP: Readonly<Record<string, AboutField>> = {
  state: about('What there is to say.'),
  ...SPOOL,
  ...RANGE,
  previousEpoch: about('Of the spool before.'),
  previousMark: about('The last number that came of it: what it had beyond, nobody knows.'),
};

const UNKNOWN: Readonly<Record<string, AboutField>> = {
  passageId: about('`id` of the intent.'),
  intent: about('Number of the entry that has it.'),
  ...SPOOL,
  beganAt: about('When it began.'),
};

const UNREADABLE: Readonly<Record<string, AboutField>> = {
  ...SPOOL,
  ...RANGE,
  count: about('How many records of one batch.'),
  seq: about('The number that the spool gave it.'),
  why: about('Which field, and what is wrong with it; not what stands there.'),
  stream: about('Where it came by.'),
  subject: about('Of NATS: who sent it.'),
  sequence: about('In the stream.'),
  bytes: about('How long it is.'),
  sha256: about('Of subject, line feed and message.'),
};

const RETENTION: Readonly<Record<string, AboutField>> = {
  statement: about('Always this.'),
  first: about('Number of the first entry that went.'),
  last: about('Of the last one.'),
  size: about('Entries of the log then.'),
  firstDay: about('Of recording, UTC.'),
  lastDay: about('The last of them.'),
};

const BEGUN_ANEW: Readonly<Record<string, AboutField>> = {
  statement: about('Always this.'),
  incarnation: about('The log after the first has 2.'),
  kept: about('It begins with so many entries.'),
  signed: about('So many of them are surely those of the log before.'),
  last: about('What was signed last of the one before.'),
  'last.origin': about('Its name.'),
  'last.size': about('Its entries.'),
  'last.verifierKey': about('Of its key (C2SP signed-note).'),
  'last.checkpoint': about('Itself (C2SP tlog-checkpoint).'),
  by: about('Who let it begin anew.'),
};

/** By the kind of an entry: every field of its body has a row; the generator says which has none. */
export const ABOUT_RECORDS: Readonly<Record<string, Readonly<Record<string, AboutField>>>> = {
  passage: PASSAGE,
  lost: LOST,
  rules: RULES,
  handshakes: HANDSHAKES,
  gap: GAP,
  unknown: UNKNOWN,
  unreadable: UNREADABLE,
  retention: RETENTION,
  'begun-anew': BEGUN_ANEW,
};
