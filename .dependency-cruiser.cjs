// Import boundaries: the folders show the architecture, and this keeps them true. Cycles between files are an error too.
const libs = (names) => `^libs/(${names})/`;
const { SERVICES } = require('./libs/contracts/services.ts');
/** Services are kept apart by folder; the gateway is no Nest service, and has rules of its own. */
const services = Object.keys(SERVICES)
  .filter((name) => name !== 'gateway')
  .join('|');

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-never-import-each-other',
      comment:
        'They speak through contracts and events. Rules that are plain, such as those of targets, are everybody’s.',
      severity: 'error',
      from: { path: libs(services) },
      to: {
        path: libs(`${services}|tunnel|gateway|agent|rpc|kube-http|tcp-targets`),
        pathNot: '^libs/$1/',
      },
    },
    {
      name: 'libs-never-import-apps',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(apps|e2e|bench|tools/stack)/' },
    },
    {
      name: 'only-tests-import-tools',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '(\\.spec\\.ts$|/testing/|^apps/(dev|demo)/)' },
      to: { path: '^tools/' },
    },
    {
      name: 'only-tests-import-what-is-for-tests',
      severity: 'error',
      from: {
        path: '^(libs|apps)/',
        pathNot: '(\\.spec\\.ts$|/testing/|^libs/(testing|installation|tunnel/conformance)/|^apps/dev/)',
      },
      to: { path: '^libs/(testing/|installation/|tunnel/conformance/|.*/testing/|gateway/parts\\.ts$)' },
    },
    {
      name: 'domain-is-plain',
      comment: 'No framework, no database, no socket in the domain.',
      severity: 'error',
      from: { path: '^libs/[^/]+/domain/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: '(^libs/[^/]+/(store|feature)/|^libs/(persistence|messaging|events)/|node_modules/(@nestjs|typeorm|pg|@nats-io))',
      },
    },
    {
      name: 'entities-stay-in-store',
      severity: 'error',
      from: { path: '^libs/[^/]+/feature/' },
      to: { path: '^libs/[^/]+/store/.*entity' },
    },
    {
      name: 'git-hosts-know-only-git-hosts',
      comment: 'Drivers of other systems: no service, no database, no events.',
      severity: 'error',
      from: { path: libs('git-hosts'), pathNot: '(\\.spec\\.ts$|/testing/)' },
      to: { path: '^libs/', pathNot: '^libs/(git-hosts|errors|clock|limits)/' },
    },
    {
      name: 'oidc-knows-only-tokens',
      comment: 'What an issuer signed: no service, no database, no events.',
      severity: 'error',
      from: { path: libs('oidc'), pathNot: '(\\.spec\\.ts$|/testing/)' },
      to: { path: '^libs/', pathNot: '^libs/(oidc|errors|clock)/' },
    },
    {
      name: 'outbound-knows-only-addresses',
      comment: 'Who dials for others: no service, no database, no events.',
      severity: 'error',
      from: { path: libs('outbound'), pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(outbound|errors|clock)/' },
    },
    {
      name: 'transparency-log-is-plain',
      comment:
        'Who verifies a log needs no more than this: no service, no database, no events. Stores come in by its port.',
      severity: 'error',
      from: { path: libs('transparency-log'), pathNot: '(\\.spec\\.ts$|/testing/)' },
      to: {
        path: '(^libs/|node_modules/(@nestjs|@nats-io|typeorm|pg)/)',
        pathNot: '^libs/(transparency-log|errors|clock)/',
      },
    },
    {
      name: 'tunnel-core-is-pure',
      comment: 'No socket, timer or framework: framing and states only.',
      severity: 'error',
      from: { path: '^libs/tunnel/core/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: '^(libs/tunnel/core/|libs/(errors|proto)/|node_modules/@bufbuild/protobuf)' },
    },
    {
      name: 'rules-of-requests-and-targets-are-plain',
      comment: 'Both ends keep them; nothing of either end is in them.',
      severity: 'error',
      from: { path: libs('kube-http|targets'), pathNot: '\\.spec\\.ts$' },
      to: { pathNot: '^(libs/(kube-http|targets|errors)/|node:|(crypto|http|net|stream)$)' },
    },
    {
      name: 'tunnel-knows-neither-end',
      comment: 'Gateway and agent are built on the data path; what it needs of them stands in its ports.',
      severity: 'error',
      from: { path: libs('tunnel'), pathNot: '^libs/tunnel/conformance/' },
      to: { path: libs('gateway|agent|rpc|tcp-targets|installation') },
    },
    {
      name: 'agent-never-imports-gateway',
      comment: 'They meet in the link.',
      severity: 'error',
      from: { path: '^libs/(tunnel/)?agent/' },
      to: { path: '^libs/(tunnel/)?gateway/' },
    },
    {
      name: 'gateway-never-imports-agent',
      severity: 'error',
      from: { path: '^libs/(tunnel/)?gateway/' },
      to: { path: '^libs/(tunnel/)?agent/' },
    },
    {
      name: 'link-knows-no-end',
      comment: 'One session or stream: no cluster, user or NATS.',
      severity: 'error',
      from: { path: '^libs/tunnel/link/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(tunnel/(link|core)|http2|errors|proto)/' },
    },
    {
      name: 'agent-stays-small',
      comment: 'The agent runs in every cluster: no NATS, no Nest, no database client in it.',
      severity: 'error',
      from: {
        path: '^(apps/agent|libs/(agent|rpc|kube-http|targets|tcp-targets|tunnel/(agent|link|core)))/',
        pathNot: '(\\.spec\\.ts$|/testing/)',
      },
      to: {
        path: '(^libs/(messaging|persistence|events|contracts)/|node_modules/(@nestjs|@nats-io|typeorm|pg|@kubernetes))',
      },
    },
    {
      name: 'installer-knows-only-its-cluster',
      comment: 'It runs with the rights of an administrator: no link, no service, no message bus in it.',
      severity: 'error',
      from: { path: '^(apps|libs)/installer/', pathNot: '(\\.spec\\.ts$|/testing/)' },
      to: {
        path: '(^libs/|node_modules/(@nestjs|@nats-io|typeorm|pg|@kubernetes)/)',
        pathNot: '^libs/(installer|desired-state|kube/rest|pki|errors|clock|loop|config|observability)/',
      },
    },
    {
      name: 'desired-state-is-plain',
      comment: 'Schemas and a signature: both ends build on them.',
      severity: 'error',
      from: { path: libs('desired-state'), pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(desired-state|pki|errors)/' },
    },
    {
      name: 'access-rules-and-statements-are-plain',
      comment: 'Doors and agents keep the same ones.',
      severity: 'error',
      from: { path: libs('access-rules|access-statement'), pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/', pathNot: '^libs/(access-rules|access-statement|pki|errors|limits)/' },
    },
    {
      name: 'proto-depends-on-nothing',
      severity: 'error',
      from: { path: libs('proto') },
      to: { path: '^(libs|apps|tools)/', pathNot: libs('proto') },
    },
    {
      name: 'apps-never-import-each-other',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|node_modules/(?!@fairlead)|gen)/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['fairlead-source', 'import', 'node', 'default'],
    },
  },
};
