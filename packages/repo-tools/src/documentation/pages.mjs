// Reads documentation pages and their code blocks. Plain JavaScript, because `npm run stranger` runs without build tools.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../base/workspace.mjs'

/**
 * An HTML comment before a block that exempts it from checks. `words` is the reason; for `from` it is the file that the block copies.
 * @typedef {{ kind: 'shown only' | 'not run' | 'from', words: string }} Mark
 */

/**
 * A tab of a code group (`::: code-group`). `group` is the index of the group on its page; `label` names one host or several, with
 * commas, or is `otherHosts`.
 * @typedef {{ group: number, label: string }} Tab
 */

/**
 * @typedef {{
 *   place: string, page: string, language: string, text: string, file?: string, mark?: Mark, tab?: Tab,
 * }} Block `place` is file:line of its first line; `file` is the name of the whole file that it shows, undefined for a fragment
 */

/** Label of the tab for every host that has no tab of its own in the group. */
export const otherHosts = 'Other hosts'

/** @param {string} file relative to the root */
export const read = (file) => readFileSync(join(root, file), 'utf8')

/** @param {string} folder */
const pagesBelow = (folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    // The site's build writes these.
    .filter((name) => !name.startsWith('docs/reference/api/') || name.endsWith('/README.md'))
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
  /(?:^<!-- (?<kind>shown only|not run|from): (?<words>.+?) -->\n\n?)?^```(?<language>\S*)(?: +(?<info>[^\n]*))?\n(?<text>.*?)^```$/gms

/** The words after the language: a file name, a label in brackets, or both. A label is the last word in brackets. */
const infoWords = /^(?<file>[^[{\s]\S*)?.*?(?:(?<=^|\s)\[(?<label>[^\]]+)\])?\s*$/

/** The first line of a tab's file: a comment with the label and the file's name. */
const namedFile = /^(?:\/\/|#) (?<label>.+?): (?<file>\S*[./]\S*)\n/

/** @param {string} text @param {string} page @returns {Block[]} */
export function blocksIn(text, page) {
  const groups = [...text.matchAll(/^::: code-group\n.*?^:::$/gms)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }))
  return [...text.matchAll(fence)].map((found) => {
    const { kind, words = '', language = '', info = '', text: code = '' } = found.groups ?? {}
    const start = found.index + found[0].indexOf('```')
    const group = groups.findIndex((one) => one.start < start && start < one.end)
    const { file: ownFile, label } = infoWords.exec(info)?.groups ?? {}
    const named = namedFile.exec(code)?.groups
    const file = ownFile ?? (group >= 0 && named?.label === label ? named?.file : undefined)
    return {
      place: `${page}:${text.slice(0, start).split('\n').length + 1}`,
      page,
      language,
      text: code,
      ...(file === undefined ? {} : { file }),
      ...(group < 0 || label === undefined ? {} : { tab: { group, label } }),
      ...(kind === undefined ? {} : { mark: { kind: /** @type {Mark['kind']} */ (kind), words } }),
    }
  })
}

/** @param {Block} block @returns {string[]} the hosts that a tab is for; `otherHosts` is one of them */
export const hostsOf = ({ tab }) => (tab === undefined ? [] : tab.label.split(/, */))

/**
 * Returns the blocks that a reader with this host follows: blocks outside of code groups, and one tab of each group. Throws if a group
 * has no tab for the host, or several.
 * @param {readonly Block[]} all blocks of one page @param {string | undefined} host @returns {Block[]}
 */
export function blocksFor(all, host) {
  return choose(all, (tabs) => {
    const { place } = tabs[0]
    if (host === undefined) throw new Error(`${place}: the page has tabs: name a host`)
    const [tab, second] = tabsFor(tabs, host)
    if (tab === undefined) throw new Error(`${place}: no tab for ${host} in this code group`)
    if (second !== undefined) throw new Error(`${second.place}: a second tab for ${host} in this code group`)
    return tab
  })
}

/** Returns the tabs that name the host; if none does, the tabs for other hosts. @param {readonly Block[]} tabs @param {string} host */
function tabsFor(tabs, host) {
  const own = tabs.filter((tab) => hostsOf(tab).includes(host))
  return own.length > 0 ? own : tabs.filter((tab) => hostsOf(tab).includes(otherHosts))
}

/** Keeps one tab of each group. @param {readonly Block[]} all @param {(tabs: [Block, ...Block[]]) => Block} pick */
function choose(all, pick) {
  /** @type {Map<number, [Block, ...Block[]]>} */
  const groups = new Map()
  for (const block of all) {
    if (block.tab === undefined) continue
    const tabs = groups.get(block.tab.group)
    if (tabs === undefined) groups.set(block.tab.group, [block])
    else tabs.push(block)
  }
  const chosen = new Set([...groups.values()].map(pick))
  return all.filter((block) => block.tab === undefined || chosen.has(block))
}

export const blocks = documents.flatMap((page) => blocksIn(read(page), page))

/** @param {Block} block */
export const isCode = ({ language }) => ['js', 'ts', 'jsx', 'tsx', 'javascript', 'typescript'].includes(language)

/**
 * Returns the paths through a page that lead to this block: a page without tabs has one, a page with tabs one per host. Paths with the
 * same files before the block count once.
 * @param {Block} block @param {readonly Block[]} all @returns {Map<string, Block>[]} per path, the files by name that a reader has
 */
export function filesBefore(block, all) {
  const page = all.filter((other) => other.page === block.page)
  const labels = [...new Set(page.flatMap(hostsOf))]
  // Labels of tabs that are not hosts (npm, pnpm) need not be in every group.
  const paths =
    labels.length === 0
      ? [page]
      : labels.map((label) =>
          choose(page, (tabs) => (label === otherHosts ? undefined : tabsFor(tabs, label)[0]) ?? tabs[0]),
        )
  /** @type {Map<string, Map<string, Block>>} */
  const found = new Map()
  for (const path of paths) {
    const end = path.indexOf(block)
    if (end < 0) continue
    const files = new Map(
      path.slice(0, end).flatMap((other) => (other.file === undefined ? [] : [[other.file, other]])),
    )
    found.set([...files.values()].map(({ place }) => place).join(), files)
  }
  return found.size === 0 ? [new Map()] : [...found.values()]
}
