// `npm run release:publish -- FOLDER [names…]`: publishes the tarballs of a folder that `tarballs.mjs` filled, each unless the registry
// has its version already. Dependencies come before the packages that need them; after a failure, run it again. Imports nothing but
// Node itself, because it runs where nothing is installed. With names: only these packages.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** @param {string[]} args @returns {Promise<{ code: number, output: string }>} */
const npm = (args) =>
  new Promise((done) => {
    execFile('npm', args, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : 1, output: `${stdout}${stderr}` })
    })
  })

/** @param {string} folder @param {string[]} only these packages; none: all @param {(line: string) => void} print */
async function publish(folder, only, print) {
  /** @type {{ name: string, version: string, file: string }[]} */
  const all = JSON.parse(readFileSync(resolve(folder, 'packages.json'), 'utf8'))
  for (const { name, version, file } of all.filter(({ name }) => only.length === 0 || only.includes(name))) {
    const known = await npm(['view', `${name}@${version}`, 'version', '--json'])
    if (known.code === 0 && known.output.includes(`"${version}"`)) {
      print(`${name}@${version} is already published`)
      continue
    }
    // Only E404 proves that the version is missing: a registry that is down proves nothing.
    if (known.code !== 0 && !/E404/.test(known.output)) throw new Error(`npm view ${name} failed:\n${known.output}`)
    const { code, output } = await npm(['publish', resolve(folder, file), '--access', 'public', '--ignore-scripts'])
    if (code !== 0) throw new Error(`publishing ${name}@${version} failed:\n${output}`)
    print(`${name}@${version} is published`)
  }
}

const [folder, ...names] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder of the tarballs: npm run release:publish -- FOLDER')
await publish(folder, names, console.log)
