// `npm run release:publish`: publishes the tarball of every public package whose version the registry does not have yet. The tarballs
// are those that the tests install. What a package stands on goes before it; after a failure, run it again. With names: only these.
import { packAll } from '../packed/pack.mjs'
import { root, run } from '../workspace.mjs'

/** @param {string[]} only these packages; none: all @param {(line: string) => void} say */
async function publish(only, say) {
  const packages = (await packAll()).filter(({ name }) => only.length === 0 || only.includes(name))
  for (const { name, version, tarball } of packages) {
    const known = await run('npm', ['view', `${name}@${version}`, 'version', '--json'], root)
    if (known.code === 0 && known.output.includes(`"${version}"`)) {
      say(`${name}@${version} is there already`)
      continue
    }
    // Nothing but "no such thing" says that it is not there: a registry that is down says nothing.
    if (known.code !== 0 && !/E404/.test(known.output)) throw new Error(`npm view ${name} failed:\n${known.output}`)
    const { code, output } = await run('npm', ['publish', tarball, '--access', 'public', '--ignore-scripts'], root)
    if (code !== 0) throw new Error(`publishing ${name}@${version} failed:\n${output}`)
    say(`${name}@${version} is published`)
  }
}

await publish(process.argv.slice(2), console.log)
