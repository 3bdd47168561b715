import { Bundle, CatalogRepository, GitOpsName, gitopsRpc } from '@fairlead/contracts';
import { BundleLimits } from '@fairlead/desired-state';
import { z } from 'zod';
import { HOST_ANSWER_MS } from './git-host-operations.js';
import { empty, json, operationsOf } from './operation.js';

export { Bundle, CatalogRepository };

export const CatalogByName = z.strictObject({ name: GitOpsName });
export const NewCatalogRepository = gitopsRpc.addRepository.input
  .omit({ actor: true })
  .strict()
  .describe('A repository that clusters are to follow. With `create` it is made if it is not there.');
export const CatalogList = z.object({ repositories: z.array(CatalogRepository).max(500) });
export type CatalogList = z.infer<typeof CatalogList>;

const BundleByVersion = z.strictObject({ tool: Bundle.shape.tool, version: Bundle.shape.version });
export const BundleList = z.object({ bundles: z.array(Bundle).max(500) });
export type BundleList = z.infer<typeof BundleList>;
const sha256 = gitopsRpc.beginBundle.input.shape.digest.describe('SHA-256 of the YAML, hex.');
const UploadedBundle = z.strictObject({
  digest: sha256,
  origin: z.string().min(1).max(1_024).default('uploaded').describe('Where it comes from, such as the name of a file.'),
});
export const BundleImport = gitopsRpc.importBundleUrl.input
  .pick({ url: true, digest: true })
  .extend({ digest: sha256 })
  .strict()
  .describe('Fetched by the control plane itself. The digest says that it is what was meant.');

/** Above what `gitops` may take to fetch a bundle, to wait for others and to read it, and what uploads are finished in (`upload-bundle.ts`). */
const BUNDLE_ANSWER_MS = 105_000;

const kept = json(201, 'Kept.', Bundle);
const IMPORT_ERRORS = ['ALREADY_EXISTS', 'TOO_LARGE', 'CONFLICT', 'DEADLINE_EXCEEDED'] as const;
const IMPORT_NEXT = {
  INVALID_ARGUMENT: 'take the install manifest of the tool as it was released, and the SHA-256 of that very file',
  ALREADY_EXISTS: 'give it another version, or look at what is there: fairlead bundle list',
  TOO_LARGE: `a bundle has at most ${BundleLimits.maxBytes} bytes, and ${BundleLimits.maxCompressedBytes} when gzipped`,
  CONFLICT: 'import it again; if there are too many bundles, remove one: fairlead bundle rm',
} as const;

/** What the admin API can do about catalog repositories and bundles. */
export const catalogOperations = operationsOf('catalog', {
  listCatalogRepositories: {
    route: 'GET /v1/catalog-repositories',
    summary: 'List the catalog repositories',
    answers: [json(200, 'All of them.', CatalogList)],
  },
  addCatalogRepository: {
    route: 'POST /v1/catalog-repositories',
    summary: 'Add a repository that clusters may follow',
    body: NewCatalogRepository,
    answers: [json(201, 'Added.', CatalogRepository)],
    errors: [
      'ALREADY_EXISTS',
      'NOT_FOUND',
      'CONFLICT',
      'GIT_TOKEN_REFUSED',
      'GIT_RIGHTS_MISSING',
      'UNTRUSTED_PEER',
      'DEADLINE_EXCEEDED',
    ],
    next: {
      NOT_FOUND:
        'check the Git host with fairlead git-host list, and the path; fairlead catalog add --create makes the repository',
      ALREADY_EXISTS: 'choose another name, or look at what is there: fairlead catalog list',
      GIT_TOKEN_REFUSED: 'give the Git host a new token: fairlead git-host add NAME --token-file FILE',
      GIT_RIGHTS_MISSING: 'give the token these rights at the Git host (docs/gitops.md), then try again',
    },
    answersWithinMs: HOST_ANSWER_MS,
  },
  removeCatalogRepository: {
    route: 'DELETE /v1/catalog-repositories/{name}',
    summary: 'Forget a catalog repository',
    description: 'Refused while an assignment names it. Nothing happens to the repository itself.',
    params: CatalogByName,
    answers: [empty('Forgotten.')],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: {
      NOT_FOUND: 'see which there are: fairlead catalog list',
      CONFLICT: 'see which assignments name it: fairlead gitops list',
    },
  },
  listBundles: {
    route: 'GET /v1/bundles',
    tag: 'bundles',
    summary: 'List the install manifests that were imported',
    answers: [json(200, 'All of them.', BundleList)],
  },
  uploadBundle: {
    route: 'PUT /v1/bundles/{tool}/{version}',
    tag: 'bundles',
    summary: 'Import the install manifest of a GitOps tool',
    description:
      'The body is the YAML itself, with its Content-Length. The same again does no harm; another one of this version is refused.',
    params: BundleByVersion,
    query: UploadedBundle,
    upload: { mediaType: 'application/yaml', maxBytes: BundleLimits.maxBytes },
    answers: [kept],
    errors: IMPORT_ERRORS,
    next: IMPORT_NEXT,
    answersWithinMs: BUNDLE_ANSWER_MS,
  },
  importBundle: {
    route: 'POST /v1/bundles/{tool}/{version}/import',
    tag: 'bundles',
    summary: 'Have an install manifest fetched from a URL',
    params: BundleByVersion,
    body: BundleImport,
    answers: [kept],
    errors: IMPORT_ERRORS,
    next: IMPORT_NEXT,
    answersWithinMs: BUNDLE_ANSWER_MS,
  },
  removeBundle: {
    route: 'DELETE /v1/bundles/{tool}/{version}',
    tag: 'bundles',
    summary: 'Remove a bundle',
    description: 'Refused while an assignment or a running rollout needs it.',
    params: BundleByVersion,
    answers: [empty('Removed.')],
    errors: ['NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    next: {
      NOT_FOUND: 'see which there are: fairlead bundle list',
      CONFLICT: 'see who needs it: fairlead gitops list, and fairlead rollout list',
    },
  },
});
