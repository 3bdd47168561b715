// Import boundaries: the folders show the architecture, and this keeps them true. Cycles between files are an error too.
const libs = (names) => `^libs/(${names})/`;

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-never-import-each-other',
      comment: 'They speak through contracts and events.',
      severity: 'error',
      from: { path: '^libs/(registration|keys|gitops|audit|api)/' },
      to: { path: '^libs/(registration|keys|gitops|audit|api|tunnel)/', pathNot: '^libs/$1/' },
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
      from: { path: '^(libs|apps)/', pathNot: '(\\.spec\\.ts$|/testing/|^apps/dev/)' },
      to: { path: '^tools/' },
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
      to: { pathNot: '^(libs/(kube-http|targets|errors)/|node:|http$)' },
    },
    {
      name: 'agent-and-gateway-meet-only-in-link',
      severity: 'error',
      from: { path: '^libs/tunnel/agent/', pathNot: '\\.spec\\.ts$' },
      to: { path: '^libs/tunnel/gateway/' },
    },
    {
      name: 'agent-stays-small',
      comment: 'The agent runs in every cluster: no NATS, no Nest, no database client in it.',
      severity: 'error',
      from: { path: '^(apps/agent|libs/tunnel/(agent|link|core))/', pathNot: '\\.spec\\.ts$' },
      to: {
        path: '(^libs/(messaging|persistence|events|contracts)/|node_modules/(@nestjs|@nats-io|typeorm|pg|@kubernetes))',
      },
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
