// `node packages/repo-tools/src/release/tarballs.mjs FOLDER`: packs every public package into an empty folder, with `packages.json`, the list in the order of
// publishing. The publishing job takes this folder and installs nothing: a hijacked development dependency must not run
// where the identity for npm is available.
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { packAll } from '../packed/pack.mjs'

const [folder = ''] = process.argv.slice(2)
if (folder === '')
  throw new Error('Name the folder for the tarballs: node packages/repo-tools/src/release/tarballs.mjs FOLDER')
mkdirSync(folder, { recursive: true })
if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty: name an empty folder.`)
const packages = (await packAll()).map(({ name, version, tarball }) => {
  const file = basename(tarball)
  copyFileSync(tarball, join(folder, file))
  return { name, version, file }
})
writeFileSync(join(folder, 'packages.json'), `${JSON.stringify(packages, null, 2)}\n`)
