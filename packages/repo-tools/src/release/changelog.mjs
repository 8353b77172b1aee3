// One CHANGELOG.md for all packages: a section per version, newest first.

const heading = (/** @type {string} */ version) => `## ${version}\n`

/**
 * Returns the changelog with a new section for the version at the top.
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
 * Returns the section of a version; undefined if there is none.
 * @param {string} changelog @param {string} version
 */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m)
  return sections
    .find((section) => section.startsWith(heading(version)))
    ?.slice(heading(version).length)
    .trim()
}
