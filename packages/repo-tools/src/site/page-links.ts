import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from '../base/workspace.mjs'
import { apiPackages } from './api-pages.mjs'

const docs = join(root, 'docs')

/** Returns the address of a page of docs/ on the site: GitHub shows a folder's README.md, VitePress its index.md. */
export const addressOf = (page: string): string => page.replace(/(^|\/)README\.md$/, '$1index.md')

/** Pages for GitHub alone. */
export const excludedPages = ['README.md']

/** Address of the repository, `https://github.com/owner/name`; undefined until a package.json has one. */
export const repositoryURL = ((): string | undefined => {
  const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const url: unknown = typeof repository === 'object' ? repository?.url : repository
  return typeof url === 'string' ? url.replace(/^git\+/, '').replace(/\.git$/, '') : undefined
})()

/**
 * Returns the address on the site of a link in a page, or undefined if the site has no such page and the repository's address is unknown:
 * such a link becomes plain text. A link to a public package leads to its API page.
 *
 * @param page absolute path of the page's file
 */
export function resolvePageLink(link: string, page: string, repository: string | undefined): string | undefined {
  if (/^(?:[a-z][a-z+.-]*:|\/\/|#)/i.test(link)) return link
  const [, path = '', hash = ''] = /^([^#]*)(#.*)?$/.exec(link) ?? []
  const file = join(dirname(page), decodeURIComponent(path))
  const inDocs = relative(docs, file).replaceAll('\\', '/')
  if (!inDocs.startsWith('..')) {
    // The home page takes the place of the index for GitHub, and has other headings.
    if (excludedPages.includes(inDocs)) return '/index.md'
    if (inDocs.endsWith('.md')) return `/${addressOf(inDocs)}${hash}`
    if (existsSync(join(file, 'README.md'))) return `/${inDocs}/`
  }
  const [, folder] = /^packages\/([^/]+)(?:\/README\.md)?\/?$/.exec(relative(root, file).replaceAll('\\', '/')) ?? []
  if (apiPackages.some((one) => one.folder === folder)) return `/reference/api/${folder}.md`
  return repository === undefined ? undefined : inRepository(file, repository) + hash
}

function inRepository(file: string, repository: string): string {
  const kind = existsSync(file) && statSync(file).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${relative(root, file).replaceAll('\\', '/')}`
}
