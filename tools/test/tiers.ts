// Which test files there are, and which of them every run has. The tier stands in the file: `// @tier full: <reason>`.
import { globSync, readFileSync } from 'node:fs';

/** `ordinary` is what `npm test` runs; `full` is what `npm run test:full` runs besides. */
export type Tier = 'ordinary' | 'full';

export type Project = 'unit' | 'integration' | 'e2e';

export interface TestFile {
  /** Relative to the repository, with slashes. */
  readonly path: string;
  readonly tier: Tier;
  readonly project: Exclude<Project, 'unit'>;
}

const IGNORED = ['**/node_modules/**', '**/dist/**'];
/** A directive stands before the first import, so that who opens the file sees it. */
const HEAD_LINES = 15;
const DIRECTIVE = /^\s*(?:\/\/|\*|\/\*\*?)\s*@tier\b(.*)$/u;

/** The tier that a file's text names. Throws an Error that says what is wrong with the directive. */
export function tierOf(text: string): Tier {
  const lines = text.split('\n');
  const found = lines.flatMap((line, index) => {
    const match = DIRECTIVE.exec(line);
    return match ? [{ index, said: match[1]!.trim() }] : [];
  });
  if (found.length === 0) return 'ordinary';
  if (found.length > 1) throw new Error('more than one @tier: keep one');
  const { index, said } = found[0]!;
  if (index >= HEAD_LINES) throw new Error(`@tier in line ${index + 1}: move it to the head of the file`);
  const [, tier, reason] = /^(\w*)\s*:?\s*(.*)$/u.exec(said)!;
  if (tier !== 'full') throw new Error(`unknown tier '${tier}': only 'full' is named, all other files are ordinary`);
  if (reason!.length < 10) throw new Error('@tier full without a reason: say what ordinary test shows the story');
  return 'full';
}

/** All files of integration and e2e tests; those of Docker are a project of their own. */
export function testFiles(root = '.'): TestFile[] {
  const listed = (pattern: string) =>
    globSync(pattern, { cwd: root, exclude: IGNORED }).map((path) => path.replaceAll('\\', '/'));
  const integration = listed('{libs,apps,tools,bench}/**/*.int.spec.ts').filter(
    (path) => !path.endsWith('/docker.int.spec.ts'),
  );
  return [
    ...integration.sort().map((path) => ({ path, project: 'integration' as const })),
    ...listed('e2e/**/*.e2e.ts')
      .sort()
      .map((path) => ({ path, project: 'e2e' as const })),
  ].map((file) => ({ ...file, tier: tierOfFile(`${root}/${file.path}`) }));
}

/** All files of unit tests; they are all of the ordinary tier. */
export function unitTestFiles(root = '.'): string[] {
  const all = globSync('{libs,apps,tools,bench,e2e}/**/*.spec.ts', { cwd: root, exclude: IGNORED });
  return all.filter((path) => !path.endsWith('.int.spec.ts')).sort();
}

/** One sentence for each file whose directive is wrong. */
export function tierProblems(root = '.'): string[] {
  const files = ['{libs,apps,tools,bench,e2e}/**/*.spec.ts', 'e2e/**/*.e2e.ts'].flatMap((pattern) =>
    globSync(pattern, { cwd: root, exclude: IGNORED }),
  );
  return files.flatMap((path) => {
    const text = readFileSync(`${root}/${path}`, 'utf8');
    try {
      if (tierOf(text) === 'ordinary' || /\.(int\.spec|e2e)\.ts$/u.test(path)) return [];
      return [`${path}: unit tests have no tier`];
    } catch (error) {
      return [`${path}: ${(error as Error).message}`];
    }
  });
}

function tierOfFile(path: string): Tier {
  try {
    return tierOf(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}
