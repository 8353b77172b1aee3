// `npm run docs` serves the documentation site, `npm run docs:build` builds it into docs/.vitepress/dist and checks its links.
import { buildSite, serveSite, siteFolder } from './build.mjs'
import { SiteError } from './install.mjs'

const [command = 'serve', ...options] = process.argv.slice(2)

try {
  if (command === 'serve') process.exitCode = await serveSite(options)
  else if (command === 'build') {
    await buildSite()
    process.stdout.write(`documentation site: built in ${siteFolder}\n`)
  } else throw new SiteError(`Unknown command '${command}'. Use 'serve' or 'build'.`)
} catch (error) {
  if (!(error instanceof SiteError)) throw error
  process.stderr.write(`documentation site: ${error.message}\n`)
  process.exitCode = 1
}
