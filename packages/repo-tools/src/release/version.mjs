// `npm run release:version`: turns the changes in .changeset into a new version of all packages. Changesets determines the version and
// writes it into every manifest; the entries go into the one CHANGELOG.md instead of a changelog per package.
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJson, root, run, workspaceDirs } from '../base/workspace.mjs'
import { withSection } from './changelog.mjs'

/** @typedef {{ file: string, packages: string[], text: string }} Change */

/** @param {string} folder the repository @returns {Change[]} the pending changes in .changeset */
export const pendingChanges = (folder) =>
  readdirSync(join(folder, '.changeset'))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .sort()
    .map((file) => {
      const [, front = '', text = ''] =
        /^---\n(.*?)\n---\n(.*)$/s.exec(readFileSync(join(folder, '.changeset', file), 'utf8')) ?? []
      const packages = [...front.matchAll(/^["']?([^"':\s]+)["']?\s*:\s*(?:major|minor|patch)\s*$/gm)].map(
        ([, name = '']) => name,
      )
      return { file, packages, text: text.trim() }
    })

/**
 * @param {string} folder the repository
 * @returns {Promise<string | undefined>} the new version; undefined if there is nothing to release
 */
export async function version(folder) {
  const changes = pendingChanges(folder)
  if (changes.length === 0) return undefined
  const changesets = createRequire(import.meta.url).resolve('@changesets/cli/bin.js')
  const { code, output } = await run(process.execPath, [changesets, 'version'], folder)
  if (code !== 0) throw new Error(`changeset version failed:\n${output}`)
  const released = JSON.parse(readFileSync(join(folder, 'packages/core/package.json'), 'utf8')).version
  const changelog = join(folder, 'CHANGELOG.md')
  const entries = changes.map(({ text }) => text)
  writeFileSync(changelog, withSection(readFileSync(changelog, 'utf8'), released, entries))
  return released
}

/**
 * Returns an example's manifest with ranges of the released version: Changesets skips private packages, but users copy examples.
 * @param {string} manifest @param {string[]} ours names of our packages @param {string} released
 */
export const withRanges = (manifest, ours, released) =>
  manifest.replace(/("([^"]+)": ")\^[^"]+"/g, (all, start, name) =>
    ours.includes(name) ? `${start}^${released}"` : all,
  )

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const released = await version(root)
  if (released === undefined) {
    console.log('Nothing to release: .changeset holds no changes. `npm run changeset` describes one.')
  } else {
    const ours = workspaceDirs(['packages']).map((dir) => readJson(`${dir}/package.json`).name)
    for (const dir of workspaceDirs(['examples'])) {
      const file = join(root, dir, 'package.json')
      writeFileSync(file, withRanges(readFileSync(file, 'utf8'), ours, released))
    }
    const { code, output } = await run(
      'npx',
      ['--yes', readJson('package.json').packageManager, 'install', '--lockfile-only'],
      root,
    )
    if (code !== 0) throw new Error(`the lock file could not be updated:\n${output}`)
    console.log(
      `All packages are ${released} now. Read CHANGELOG.md over, commit, and tag the commit v${released} once it is merged.`,
    )
  }
}
