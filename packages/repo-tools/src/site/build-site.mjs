// Set-up of the tests of the built site: builds it. Without a network and an installed VitePress, its tests are skipped.
import { buildSite, siteFolder } from './build.mjs'
import { installSite, SiteUnavailable } from './install.mjs'

export async function setup() {
  try {
    await buildSite()
    process.env.MODELGATE_SITE = siteFolder
    process.env.MODELGATE_SITE_PACKAGES = await installSite()
  } catch (error) {
    if (!(error instanceof SiteUnavailable)) throw error
    process.stderr.write(`documentation site: tests skipped. ${error.message}\n`)
  }
}
