// Builds the console's pages and assets from src/ui as strings that the plugin serves: nothing is read at run time, and nothing
// generated is kept in the repository. Used by the package's build and by its tests.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
// Resolved from here: the configurations that import this file are bundled and run from elsewhere.
const require = createRequire(join(root, 'package.json'))

const types = /** @type {const} */ ({ js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' })

const pageNames = /** @type {const} */ (['home', 'playground', 'calls', 'usage', 'tokens'])

/** @typedef {{ name: string, type: string, body: string }} Asset */
/** @typedef {{ html: string, scripts: string[], etag: string }} Page */
/** @typedef {{ version: string, homepage: string | undefined, assets: Asset[], pages: { [N in (typeof pageNames)[number]]: Page } }} Console */

/** @param {string} text @param {'base64' | 'hex'} encoding */
const sha256 = (text, encoding) => createHash('sha256').update(text).digest(encoding)

/** @param {string} file */
const shellFile = (file) => readFileSync(join(root, 'src/ui/shell', file), 'utf8').trim()

/** Bundles the browser's files; their names contain a hash of the content. */
async function bundle() {
  /** @type {typeof import('esbuild')} */
  const esbuild = require('esbuild')
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: {
      ...Object.fromEntries(pageNames.map((name) => [name, `src/ui/${name}/main.tsx`])),
      console: 'src/ui/styles/console.css',
    },
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: 'shared-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox114', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    charset: 'utf8',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const assets = outputFiles.map(({ path, text }) => {
    const name = basename(path)
    return { name, type: types[/** @type {'js' | 'css'} */ (name.slice(name.lastIndexOf('.') + 1))], body: text }
  })
  return { assets, inputs: Object.keys(metafile.inputs).map((file) => join(root, file)) }
}

/**
 * Fills in a page's asset names. Inline scripts are few lines that must run before the first paint; the policy allows them by
 * hash.
 * @param {string} name @param {Asset[]} assets
 * @returns {Page}
 */
function page(name, assets) {
  const shell = readFileSync(join(root, `src/ui/${name}/page.html`), 'utf8')
  /** @param {string} kind */
  const assetNamed = (kind) => {
    const [stem, ending] = kind.split('.')
    const asset = assets.find(({ name: own }) => own.startsWith(`${stem}-`) && own.endsWith(`.${ending}`))
    if (asset === undefined) throw new Error(`src/ui/${name}/page.html asks for '${kind}', which nothing builds.`)
    return asset.name
  }
  const html = shell
    .replace(/<script data-lines="([\w-]+\.js)"><\/script>/g, (_, file) => `<script>${shellFile(file)}</script>`)
    .replace('href="icon.svg"', `href="data:image/svg+xml;base64,${btoa(shellFile('icon.svg'))}"`)
    .replace(/(?<=assets\/)\w+\.(?:js|css)/g, assetNamed)
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, text = '']) => `'sha256-${sha256(text, 'base64')}'`,
  )
  return { html, scripts, etag: `"${sha256(html, 'hex').slice(0, 24)}"` }
}

const shellFiles = [
  ...pageNames.map((name) => `${name}/page.html`),
  'shell/theme.js',
  'shell/slash.js',
  'shell/icon.svg',
]

/** Builds everything the plugin serves, and lists the source files. @returns {Promise<{ built: Console, files: string[] }>} */
export async function buildAssets() {
  const { assets, inputs } = await bundle()
  const { version, homepage } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const pages = /** @type {Console['pages']} */ (
    Object.fromEntries(pageNames.map((name) => [name, page(name, assets)]))
  )
  const built = { version, homepage, assets, pages }
  return { built, files: [...inputs, ...shellFiles.map((file) => join(root, 'src/ui', file))] }
}
