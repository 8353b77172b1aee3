// Reads documentation pages and their code blocks. Plain JavaScript, because stranger.mjs runs without build tools.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../workspace.mjs'

/**
 * An HTML comment before a block that exempts it from checks. `words` is the reason; for `from` it is the file that the block copies.
 * @typedef {{ kind: 'shown only' | 'not run' | 'from', words: string }} Mark
 */

/**
 * @typedef {{
 *   place: string, page: string, language: string, text: string, file?: string, mark?: Mark,
 * }} Block `place` is file:line of its first line; `file` is the name of the whole file that it shows, undefined for a fragment
 */

/** @param {string} file relative to the root */
export const read = (file) => readFileSync(join(root, file), 'utf8')

/** @param {string} folder */
const pagesBelow = (folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()

/** Returns every page for readers of the repository or a package. */
export const documents = [
  'README.md',
  ...pagesBelow('docs'),
  ...['packages', 'examples']
    .flatMap((group) => [group, ...readdirSync(join(root, group)).map((name) => `${group}/${name}`)])
    .map((folder) => `${folder}/README.md`)
    .filter((file) => existsSync(join(root, file))),
]

const fence =
  /(?:^<!-- (?<kind>shown only|not run|from): (?<words>.+?) -->\n\n?)?^```(?<language>\S*)(?: +(?<file>\S+))?[^\n]*\n(?<text>.*?)^```$/gms

/** @param {string} text @param {string} page @returns {Block[]} */
export function blocksIn(text, page) {
  return [...text.matchAll(fence)].map((found) => {
    const { kind, words = '', language = '', file, text: code = '' } = found.groups ?? {}
    const before = text.slice(0, found.index + found[0].indexOf('```'))
    return {
      place: `${page}:${before.split('\n').length + 1}`,
      page,
      language,
      text: code,
      ...(file === undefined ? {} : { file }),
      ...(kind === undefined ? {} : { mark: { kind: /** @type {Mark['kind']} */ (kind), words } }),
    }
  })
}

/** Returns all blocks except those of generated pages, which show declarations instead of programs. */
export const blocks = documents
  .filter((page) => !page.startsWith('docs/api/'))
  .flatMap((page) => blocksIn(read(page), page))

/** @param {Block} block */
export const isCode = ({ language }) => ['js', 'ts', 'jsx', 'tsx', 'javascript', 'typescript'].includes(language)

/**
 * Returns the files, by name, that a reader has after following the page up to this block.
 * @param {Block} block @param {readonly Block[]} all @returns {Map<string, Block>}
 */
export function filesBefore(block, all) {
  const files = new Map()
  for (const other of all) {
    if (other === block) break
    if (other.page === block.page && other.file !== undefined) files.set(other.file, other)
  }
  return files
}
