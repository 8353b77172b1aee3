// Serves our tarballs to npm on loopback like the real registry. Requests for other packages are redirected to the configured registry.
//
//   node packages/repo-tools/src/packed/registry.mjs      serves until it is killed, and prints its address
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import http from 'node:http'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root, run } from '../base/workspace.mjs'
import { cache, packAll } from './pack.mjs'

/** @typedef {import('./pack.mjs').Packed} Packed */
/** @typedef {{ url: string, env: Record<string, string>, packages: Packed[], close(): Promise<void> }} PackedRegistry */

/**
 * Packs every public package and serves the tarballs. `url` has no trailing slash; `env` is the environment for processes that run npm
 * (`newProject` of project.mjs uses it); `packages` lists the tarballs and their manifests.
 * @returns {Promise<PackedRegistry>}
 */
export async function packedRegistry() {
  const [packages, upstream] = await Promise.all([packAll(), configuredRegistry()])
  const tarballs = new Map(packages.map(({ tarball }) => [`/-/packed/${basename(tarball)}`, tarball]))
  const byName = new Map(packages.map((one) => [one.name, one]))

  const server = http.createServer((request, response) => {
    const { method = 'GET', url: path = '/' } = request
    request.resume()
    const tarball = tarballs.get(path)
    if (tarball !== undefined) {
      response.setHeader('content-type', 'application/octet-stream').end(readFileSync(tarball))
      return
    }
    const found = method === 'GET' ? byName.get(decodeURIComponent(path.slice(1))) : undefined
    if (found !== undefined) {
      response
        .setHeader('content-type', 'application/json')
        // The same version has other contents after a new build.
        .setHeader('cache-control', 'no-store')
        .end(JSON.stringify(packument(found, url)))
      return
    }
    // 307 keeps the method: audits are posted.
    response.writeHead(307, { location: upstream + path }).end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`

  return {
    url,
    packages,
    env: {
      npm_config_registry: `${url}/`,
      npm_config_cache: join(cache, 'npm'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      // A proxy to the internet cannot reach this machine.
      no_proxy: [process.env.no_proxy ?? process.env.NO_PROXY, '127.0.0.1'].filter(Boolean).join(','),
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns the registry document of a package, with one version. @param {Packed} packed @param {string} url */
function packument({ name, version, tarball, manifest }, url) {
  const bytes = readFileSync(tarball)
  const digestOf = (/** @type {string} */ algorithm) => createHash(algorithm).update(bytes)
  const dist = {
    tarball: `${url}/-/packed/${basename(tarball)}`,
    integrity: `sha512-${digestOf('sha512').digest('base64')}`,
    shasum: digestOf('sha1').digest('hex'),
  }
  return {
    _id: name,
    name,
    'dist-tags': { latest: version },
    versions: { [version]: { _id: `${name}@${version}`, ...manifest, dist } },
  }
}

/** Returns the registry that npm is configured with, without a trailing slash. */
async function configuredRegistry() {
  const { code, output } = await run('npm', ['config', 'get', 'registry', '--loglevel=silent'], root)
  if (code !== 0) throw new Error(`npm does not say which registry it is configured with:\n${output}`)
  return output.trim().replace(/\/$/, '')
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { url, packages } = await packedRegistry()
  console.log(`${url}  (${packages.map(({ name, version }) => `${name}@${version}`).join(', ')})`)
  console.log(`npm install --registry ${url} …`)
}
