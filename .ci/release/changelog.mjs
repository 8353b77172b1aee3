// CHANGELOG.md is one for all packages: a section for each version, the newest first.

const heading = (/** @type {string} */ version) => `## ${version}\n`

/**
 * The changelog with a section for the version on top of the others.
 * @param {string} changelog @param {string} version @param {string[]} entries each a paragraph of Markdown
 */
export function withSection(changelog, version, entries) {
  const lines = entries.map((entry) => `- ${entry.trim().replaceAll('\n', '\n  ')}`)
  const section = `${heading(version)}\n${lines.join('\n')}\n\n`
  const first = changelog.search(/^## /m)
  return first < 0
    ? `${changelog.trimEnd()}\n\n${section}`
    : changelog.slice(0, first) + section + changelog.slice(first)
}

/**
 * What the changelog says of a version; undefined if it says nothing.
 * @param {string} changelog @param {string} version
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m)
  return sections
    .find((section) => section.startsWith(heading(version)))
    ?.slice(heading(version).length)
    .trim()
}
