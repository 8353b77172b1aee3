// Installs VitePress and its companions into a cache folder, because they are too large for a dependency of the workspace.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { withProcessLock } from '../base/process-lock.mjs'
import { digest, root } from '../base/workspace.mjs'
import { userEnvironment } from '../packed/project.mjs'

const source = fileURLToPath(new URL('dependencies', import.meta.url))
const cache = join(root, 'node_modules/.cache/site')

/** An error whose message suffices for the user. */
export class SiteError extends Error {}

/** VitePress is not installed and cannot be installed now. */
export class SiteUnavailable extends SiteError {}

/**
 * Installs the exact versions of `dependencies/package-lock.json` once. Throws SiteUnavailable if the registry is unreachable.
 * @returns {Promise<string>} the `node_modules` folder
 */
export async function installSite() {
  const files = ['package.json', 'package-lock.json'].map((file) => readFileSync(join(source, file)))
  const name = digest([...files, process.platform, process.arch])
  const folder = join(cache, name)
  const installed = join(folder, 'node_modules')
  if (existsSync(installed)) return installed
  await withProcessLock(join(cache, 'install.lock'), async () => {
    if (existsSync(installed)) return
    const unfinished = `${folder}-unfinished`
    for (const old of readdirSync(cache)) if (old !== 'install.lock') rmSync(join(cache, old), { recursive: true })
    mkdirSync(unfinished)
    cpSync(source, unfinished, { recursive: true })
    await install(unfinished)
    renameSync(unfinished, folder)
  })
  return installed
}

/** @param {string} folder */
async function install(folder) {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  const short = ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000']
  process.stderr.write('documentation site: installing VitePress (once; this needs the network) …\n')
  try {
    await promisify(execFile)('npm', ['ci', ...quiet, ...short], {
      cwd: folder,
      env: userEnvironment(),
      shell: process.platform === 'win32',
    })
  } catch (error) {
    const [code] = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED)\b/.exec(String(error)) ?? []
    if (code === undefined) throw error
    throw new SiteUnavailable(
      `VitePress is not installed and the npm registry is unreachable (${code}). Connect to the network and run this again.`,
    )
  }
}
