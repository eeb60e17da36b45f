/** Which folder may import what: the floors of the architecture, and where each library is confined. */

/** From the ground up. A folder imports from folders listed before its own row, never from its own row. */
const FLOORS = [
  ['ledger'],
  ['intent'],
  ['context'],
  ['checks'],
  ['machines'],
  ['db', 'queues', 'providers', 'tools'],
  ['runtime'],
  ['workers'],
  ['app'],
  ['api', 'board', 'cli', 'client'],
];
/** The surfaces stand on everything, and on each other. */
const TOP = FLOORS.length - 1;

/** Folders that may use less than their floor allows; `types` may be imported as types only. */
const NARROWER = {
  db: { code: ['ledger'], types: [] },
  queues: { code: ['ledger'], types: [] },
  providers: { code: ['ledger'], types: ['intent', 'context', 'checks'] },
  tools: { code: ['ledger', 'intent', 'context', 'checks'], types: [] },
  sim: { code: ['ledger'], types: ['context'] },
  client: { code: [], types: FLOORS.flat().concat('sim') },
};

/** Which folders of `src` may import a library. The simulator's replies are checked against the SDKs' types. */
const CONFINED = [
  { name: 'xstate', packages: ['xstate'], folders: ['machines', 'runtime'], typesIn: [] },
  { name: 'queue', packages: ['bullmq', 'ioredis'], folders: ['queues', 'workers', 'board'], typesIn: [] },
  { name: 'database', packages: ['pg', 'drizzle-orm'], folders: ['db'], typesIn: [] },
  {
    name: 'model',
    packages: ['openai', '@anthropic-ai/sdk', 'ollama'],
    folders: ['providers'],
    typesIn: ['sim'],
  },
  { name: 'mcp', packages: ['@modelcontextprotocol/sdk'], folders: ['tools/mcp'], typesIn: [] },
];

const PURE = ['ledger', 'intent', 'context', 'checks', 'machines'];

const inside = (folders) => `^src/(${folders.join('|')})/`;
const library = (packages) => `(^|/)node_modules/(${packages.join('|')})/|^(${packages.join('|')})(/|$)`;

const floorRules = FLOORS.slice(0, TOP).flatMap((row, floor) =>
  row.map((folder) => ({
    name: `floor-${folder}`,
    comment: `src/${folder} stands on floor ${floor}: it imports from below only.`,
    severity: 'error',
    from: { path: inside([folder]) },
    to: {
      path: inside(
        FLOORS.slice(floor)
          .flat()
          .filter((other) => other !== folder),
      ),
    },
  })),
);

const narrowRules = Object.entries(NARROWER).map(([folder, { code, types }]) => ({
  name: `narrow-${folder}`,
  comment: `src/${folder} imports only from ${[folder, ...code, ...types].join(', ')}.`,
  severity: 'error',
  from: { path: inside([folder]) },
  to: { path: '^src/', pathNot: inside([folder, ...code, ...types]) },
}));

const typesOnlyRules = Object.entries(NARROWER)
  .filter(([, { types }]) => types.length > 0)
  .map(([folder, { types }]) => ({
    name: `types-only-${folder}`,
    comment: `src/${folder} imports types, and no code, from ${types.join(', ')}.`,
    severity: 'error',
    from: { path: inside([folder]) },
    to: { path: inside(types.filter((other) => other !== folder)), dependencyTypesNot: ['type-only'] },
  }));

const confinementRules = CONFINED.flatMap(({ name, packages, folders, typesIn }) => [
  {
    name: `confined-${name}`,
    comment: `${packages.join(', ')} may be imported in ${folders.join(', ')} only.`,
    severity: 'error',
    from: { path: '^src/', pathNot: inside([...folders, ...typesIn]) },
    to: { path: library(packages) },
  },
  ...typesIn.map((folder) => ({
    name: `confined-${name}-${folder}`,
    comment: `src/${folder} imports types, and no code, from ${packages.join(', ')}.`,
    severity: 'error',
    from: { path: inside([folder]) },
    to: { path: library(packages), dependencyTypesNot: ['type-only'] },
  })),
]);

module.exports = {
  forbidden: [
    ...floorRules,
    ...narrowRules,
    ...typesOnlyRules,
    ...confinementRules,
    {
      name: 'pure-floors',
      comment: 'The pure floors reach no file, network, process or clock of Node.',
      severity: 'error',
      from: { path: inside(PURE) },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?buffer$' },
    },
    {
      name: 'simulator-is-no-part',
      comment: 'Only what builds things or serves a person may start the simulator.',
      severity: 'error',
      from: { path: '^src/', pathNot: inside(['sim', 'app', 'cli']) },
      to: { path: inside(['sim']) },
    },
    {
      name: 'nothing-imports-the-index',
      comment: 'src/index.ts is for users; inside, import the file itself.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/index\\.ts$' },
    },
    {
      name: 'reference-shares-types-only',
      comment: 'A reference implementation that shares code with src would share its mistakes.',
      severity: 'error',
      from: { path: '^test/reference/' },
      to: { path: '^src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'src-stands-alone',
      comment: 'What is shipped imports neither tests, tools and benches nor development packages.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|tools|bench)/' },
    },
    {
      name: 'no-development-packages',
      comment: 'A package that src imports belongs under dependencies, or users will not have it.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-cycle',
      comment: 'Files that import each other cannot be understood or tested apart.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-missing-file',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Their dependencies are installed by the bench alone.
    exclude: { path: '^bench/peers/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
