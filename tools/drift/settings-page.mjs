// Writes docs/settings.md from the schemas in apps/*/config.ts, or tells whether it is what they would give. `node tools/drift/settings-page.mjs` writes it.
import { readFileSync, writeFileSync } from 'node:fs';
import ts from 'typescript';
import { trackedFiles } from './tracked-files.mjs';

const PAGE = 'docs/settings.md';
const HEAD = `# Settings

Each process reads its settings from environment variables, once, when it starts. An empty one counts as absent. A process that finds one wrong
lists all that are wrong, and ends. This page is generated from \`apps/*/config.ts\`: change it there, then \`npm run generate\`.
What the limits mean: [metrics and limits](metrics-and-limits.md). The gateway and the agent also read OpenTelemetry's own: [tracing](tracing.md).
`;
const SETTING = /^[A-Z][A-Z0-9_]+$/;

/** One sentence if the page is out of date. Without git nothing is looked at. */
export function staleSettings() {
  const fresh = settingsPage();
  return fresh === null || readFileSync(PAGE, 'utf8') === fresh ? [] : [`${PAGE} is out of date: run npm run generate`];
}

/** Names of the settings of one app, sorted; null without git. */
export function settingNames(app) {
  const [config] = trackedFiles(`apps/${app}/config.ts`);
  return config === undefined
    ? null
    : [...new Set(settingsOf(config).map(({ name }) => name))].toSorted((a, b) => a.localeCompare(b, 'en'));
}

function settingsPage() {
  const configs = trackedFiles('apps/*/config.ts');
  const parts = configs.flatMap((file) => {
    const rows = firstOfEach(settingsOf(file)).filter(({ name }) => !name.startsWith('OTEL_'));
    return rows.length === 0 ? [] : [`\n## ${file.split('/')[1]}\n\n${table(rows)}`];
  });
  return configs.length === 0 ? null : HEAD + parts.join('');
}

function firstOfEach(rows) {
  return [...new Map(rows.toReversed().map((row) => [row.name, row])).values()].toReversed();
}

function table(rows) {
  const lines = rows.map(
    ({ name, otherwise, meaning }) => `| \`${name}\` | ${otherwise} | ${meaning.replaceAll('|', '\\|')} |\n`,
  );
  return `| setting | default | meaning |\n|---|---|---|\n${lines.join('')}`;
}

function settingsOf(file) {
  const source = parse(file);
  return settingsIn(source, source);
}

/** `root`: the whole file, or one declaration in it. */
function settingsIn(root, source) {
  const rows = [];
  const visit = (node) => {
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && SETTING.test(node.name.text)) {
      rows.push({ name: node.name.text, otherwise: defaultOf(node.initializer, source), meaning: commentOf(node) });
    } else if (ts.isSpreadAssignment(node)) {
      rows.push(...spreadSettings(node.expression, source, root));
    }
    ts.forEachChild(node, visit);
  };
  visit(root);
  return rows;
}

/** Of `...shared` or `...shared.shape`, which another package exports. What else stands in a file that is read as a whole is found by itself. */
function spreadSettings(expression, source, root) {
  const shared = ts.isPropertyAccessExpression(expression) ? expression.expression : expression;
  if (!ts.isIdentifier(shared)) return [];
  if (!isImported(shared.text, source)) return root === source ? [] : declaredSettings(shared.text, source);
  const declaration = new RegExp(`export const ${shared.text}\\b`);
  const file = trackedFiles('libs/**/*.ts').find((each) => declaration.test(readFileSync(each, 'utf8')));
  return file === undefined ? [] : declaredSettings(shared.text, parse(file));
}

function declaredSettings(name, source) {
  const declarations = source.statements
    .filter((each) => ts.isVariableStatement(each))
    .flatMap((each) => each.declarationList.declarations);
  const found = declarations.find((each) => each.name.getText(source) === name);
  return found ? settingsIn(found, source) : [];
}

function isImported(name, source) {
  return source.statements.some(
    (each) =>
      ts.isImportDeclaration(each) && new RegExp(`\\b${name}\\b`).test(each.importClause?.getText(source) ?? ''),
  );
}

/** As it stands in `.default(…)`, here or in what is named; `required` without one. */
function defaultOf(expression, source) {
  const text = expression.getText(source);
  const [, inline] = /\.default\(([^()]*)\)/.exec(text) ?? [];
  if (inline !== undefined) return shown(inline);
  if (/\.optional\(\)|\bz\.optional\(/.test(text)) return '';
  if (ts.isIdentifier(expression)) return defaultOfName(expression.text, source);
  // A helper of the file, such as connections(10_000): the last argument is the default.
  if (ts.isCallExpression(expression) && ts.isIdentifier(expression.expression)) {
    return shown(expression.arguments.at(-1)?.getText(source) ?? '');
  }
  return 'required';
}

function defaultOfName(name, source) {
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name: declared, initializer } of statement.declarationList.declarations) {
      if (declared.getText(source) === name && initializer) return defaultOf(initializer, source);
    }
  }
  return 'required';
}

function shown(literal) {
  if (["''", '[]'].includes(literal)) return 'none';
  if (/^[A-Z][A-Z0-9_]+$/.test(literal)) return shown(constantNamed(literal));
  return `\`${literal.replaceAll(/^'|'$|(?<=\d)_(?=\d)/g, '')}\``;
}

function constantNamed(name) {
  const declaration = new RegExp(`export const ${name} = (.*);`);
  const texts = trackedFiles('libs/**/*.ts').map((file) => declaration.exec(readFileSync(file, 'utf8'))?.[1]);
  return texts.find((text) => text !== undefined) ?? '';
}

function commentOf(node) {
  const [comment] = ts.getJSDocCommentsAndTags(node);
  return (ts.getTextOfJSDocComment(comment?.comment) ?? '').replaceAll(/\s+/g, ' ');
}

function parse(file) {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
}

if (process.argv[1]?.endsWith('settings-page.mjs')) writeFileSync(PAGE, settingsPage() ?? '');
