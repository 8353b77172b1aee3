import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** @param {string} text */
const decodeEntities = (text) =>
  text
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** @param {string} html @param {RegExp} attribute */
const valuesOf = (html, attribute) => [...html.matchAll(attribute)].map(([, value = '']) => decodeEntities(value))

/**
 * Lists links, images, scripts and styles of a built site that point to a missing file or anchor. Other hosts are not called.
 * @param {string} folder
 * @param {string} [base] path that the site is served below
 * @returns {string[]} `page: link`
 */
export function findBrokenLinks(folder, base = '/') {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.html'))
  const contents = new Map(pages.map((page) => [page, readFileSync(join(folder, page), 'utf8')]))
  const anchors = new Map([...contents].map(([page, html]) => [page, new Set(valuesOf(html, /\sid="([^"]*)"/g))]))
  return [...contents].flatMap(([page, html]) => {
    const links = valuesOf(html, /<(?:a|img|script|link|source)\s[^>]*?\b(?:href|src)="([^"]*)"/g)
    return [...new Set(links)].filter((link) => !isFound(link, page)).map((link) => `${page}: ${link}`)
  })

  /** @param {string} link @param {string} page */
  function isFound(link, page) {
    if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(link)) return true
    const [path = '', anchor = ''] = link.split('#')
    const target = path === '' ? page : fileOf(decodeURIComponent(path.replace(/\?.*$/, '')), page)
    if (target === undefined) return false
    if (anchor === '') return true
    return anchors.get(target)?.has(decodeURIComponent(anchor)) === true
  }

  /** Returns the file of a path, relative to the folder. @param {string} path @param {string} page */
  function fileOf(path, page) {
    if (path.startsWith('/') && !path.startsWith(base)) return undefined
    const file = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(page), path)
    const named = file === '' || file === '.' || file.endsWith('/') ? posix.join(file, 'index.html') : file
    return existsSync(join(folder, named)) ? named : undefined
  }
}
