// `node packages/repo-tools/src/release/identify.mjs https://github.com/owner/name`: writes the repository into every published
// manifest. Only the release workflow knows it, and npm accepts provenance only if the manifest names the same repository.
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, workspaceDirs } from '../base/workspace.mjs'

/**
 * @param {object} manifest @param {string} url of the repository @param {string} dir the package's folder in it
 */
export const identified = (manifest, url, dir) => ({
  ...manifest,
  repository: { type: 'git', url: `git+${url}.git`, directory: dir },
  homepage: `${url}/tree/main/${dir}#readme`,
  bugs: `${url}/issues`,
})

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [url = ''] = process.argv.slice(2)
  if (!/^https:\/\/[^/]+\/[^/]+\/[^/]+$/.test(url)) throw new Error(`'${url}' is no address of a repository.`)
  for (const dir of workspaceDirs(['packages'])) {
    const file = join(root, dir, 'package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    if (manifest.private !== true) writeFileSync(file, `${JSON.stringify(identified(manifest, url, dir), null, 2)}\n`)
  }
}
