import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root, run } from '../base/workspace.mjs'
import { writeApiPages } from './api-pages.mjs'
import { installSite, SiteError } from './install.mjs'
import { findBrokenLinks } from './links.mjs'

const docs = join(root, 'docs')
export const siteFolder = join(docs, '.vitepress/dist')

/** @param {string} installed */
const vitepress = (installed) => join(installed, 'vitepress/bin/vitepress.js')

/** Builds the site and checks every link and anchor. Throws with a list of the broken ones. */
export async function buildSite() {
  const installed = await installSite()
  await writeApiPages(installed)
  const { code, output } = await run(process.execPath, [vitepress(installed), 'build', docs], root)
  if (code !== 0) throw new SiteError(`VitePress failed (exit code ${code}):\n${output}`)
  const broken = findBrokenLinks(siteFolder)
  if (broken.length > 0) throw new SiteError(`${broken.length} broken links:\n${broken.join('\n')}`)
}

/**
 * Serves the site with hot reload until the process is interrupted.
 * @param {string[]} options of `vitepress dev`
 * @returns {Promise<number>} exit code
 */
export async function serveSite(options) {
  const installed = await installSite()
  await writeApiPages(installed)
  const child = spawn(process.execPath, [vitepress(installed), 'dev', docs, ...options], {
    cwd: root,
    stdio: 'inherit',
  })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => child.on('close', (code) => resolve(code ?? 0)))
}
